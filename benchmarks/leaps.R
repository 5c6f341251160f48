# Forward selection by leaps::regsubsets: Rscript leaps.R X.bin y.bin n p k repeats
# X.bin holds doubles in column-major order. After one untimed call, prints the seconds of each timed call (`repeats`;
# more of a short one, up to a second), then the selected columns, counted from 1.
args <- commandArgs(trailingOnly = TRUE)
size <- as.integer(args[3:6])
X <- matrix(readBin(args[1], "double", size[1] * size[2]), size[1], size[2])
colnames(X) <- seq_len(size[2])  # regsubsets may change their order
y <- readBin(args[2], "double", size[1])
search <- function() leaps::regsubsets(X, y, nvmax = size[3], method = "forward", really.big = TRUE)
fit <- search()
seconds <- numeric(0)
while (length(seconds) < size[4] || (min(seconds) < 0.02 && sum(seconds) < 1 && length(seconds) < 1000)) {
  start <- as.numeric(Sys.time())
  fit <- search()
  seconds <- c(seconds, as.numeric(Sys.time()) - start)
}
sets <- summary(fit)$which
chosen <- sets[nrow(sets), -1]
cat(paste(sprintf("%.6f", seconds), collapse = " "), "\n")
cat(names(which(chosen)), "\n")
