# Forward selection by leaps::regsubsets: Rscript leaps.R X.bin y.bin n p k repeats
# X.bin holds doubles, column after column. Prints the seconds of each run, then the selected columns from 1.
args <- commandArgs(trailingOnly = TRUE)
size <- as.integer(args[3:6])
X <- matrix(readBin(args[1], "double", size[1] * size[2]), size[1], size[2])
colnames(X) <- seq_len(size[2])  # regsubsets may change their order
y <- readBin(args[2], "double", size[1])
seconds <- numeric(0)
for (run in seq_len(size[4])) {
  start <- as.numeric(Sys.time())
  fit <- leaps::regsubsets(X, y, nvmax = size[3], method = "forward", really.big = TRUE)
  seconds <- c(seconds, as.numeric(Sys.time()) - start)
  if (sum(seconds) > 20) break
}
sets <- summary(fit)$which
chosen <- sets[nrow(sets), -1]
cat(paste(sprintf("%.6f", seconds), collapse = " "), "\n")
cat(names(which(chosen)), "\n")
