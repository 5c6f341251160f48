# Writes the golden files subsets_*.json: best subsets by leaps, step(direction = "both"), and stepwise by p-values.
#
#     Rscript tests/golden/make_subsets.R [DATA_DIR]
#
# DATA_DIR holds the public datasets; without it the environment variable DROPSTEP_DATA is used, then ../shared/data.
# Needs R with the packages leaps and MASS. Feature indices in the files count from 0, in the order of "columns".

library(leaps)
packages <- c("leaps", "MASS", "stats")
script_name <- "tests/golden/make_subsets.R"

arguments <- commandArgs(trailingOnly = TRUE)
data_dir <- if (length(arguments)) arguments[1] else Sys.getenv("DROPSTEP_DATA", "../shared/data")
script <- sub("^--file=", "", grep("^--file=", commandArgs(FALSE), value = TRUE))
out_dir <- if (length(script)) dirname(script) else "tests/golden"
if (!dir.exists(data_dir)) stop("no folder of datasets at ", data_dir, ": give it as the first argument")

source(file.path(out_dir, "json.R"))
source(file.path(out_dir, "step.R"))

# The three best sets of every size, best first, with their residual sums of squares, Cp and adjusted R2.
best_subsets <- function(X, y) {
  fit <- regsubsets(X, y, method = "exhaustive", nvmax = ncol(X), nbest = 3, really.big = TRUE)
  found <- summary(fit)
  sets <- lapply(seq_len(nrow(found$which)), function(i) values(unname(which(found$which[i, -1])) - 1))
  list(sets = sets, rss_null = fit$nullrss, rss = values(found$rss), cp = values(found$cp),
       adj_r2 = values(found$adjr2))
}

# Stepwise by p-values: add the term with the smallest p-value of add1() if it is at most `enter`; then remove the term
# with the largest p-value of drop1() while it exceeds `stay`; until nothing enters.
stepwise_by_p <- function(frame, enter, stay) {
  scope <- reformulate(setdiff(names(frame), "y"))
  fit <- lm(y ~ 1, frame)
  moves <- c()
  moved <- function(sign, table, i) {
    data.frame(sign = sign, feature = as.integer(sub("^x", "", rownames(table)[i])), F = table[["F value"]][i],
               p = table[["Pr(>F)"]][i], rss = deviance(fit))
  }
  repeat {
    if (length(coef(fit)) > length(attr(terms(scope), "term.labels"))) break
    table <- add1(fit, scope, test = "F")[-1, ]
    best <- which.min(table[["Pr(>F)"]])
    if (table[["Pr(>F)"]][best] > enter) break
    fit <- update(fit, paste(". ~ . +", rownames(table)[best]))
    moves <- rbind(moves, moved("+", table, best))
    repeat {
      table <- drop1(fit, test = "F")[-1, ]
      worst <- which.max(table[["Pr(>F)"]])
      if (table[["Pr(>F)"]][worst] <= stay) break
      fit <- update(fit, paste(". ~ . -", rownames(table)[worst]))
      moves <- rbind(moves, moved("-", table, worst))
    }
  }
  kept <- sort(as.integer(sub("^x", "", attr(terms(fit), "term.labels"))))
  list(enter = enter, stay = stay, signs = values(moves$sign), features = values(moves$feature), F = values(moves$F),
       p_value = values(moves$p), rss = values(moves$rss), final = values(kept))
}

subsets <- function(name, X, y, description, keep_data = FALSE) {
  columns <- colnames(X)
  X <- unname(as.matrix(X))
  if (qr(cbind(1, scale(X)))$rank < ncol(X) + 1) stop(name, ": collinear columns")
  frame <- data.frame(y = y, X)
  names(frame) <- c("y", paste0("x", seq_len(ncol(X)) - 1))
  content <- list(dataset = name, description = description, n = length(y), columns = values(columns),
                  best = best_subsets(X, y),
                  both = list(aic = step_path(frame, "both", 2), bic = step_path(frame, "both", log(length(y)))),
                  stepwise = list(stepwise_by_p(frame, 0.15, 0.15), stepwise_by_p(frame, 0.05, 0.10)))
  if (keep_data) content <- c(content, list(X = X, y = values(y)))
  write_golden(paste0("subsets_", name), content)
}

subsets("swiss", swiss[, -1], swiss$Fertility, "R datasets::swiss; the data are in this file", keep_data = TRUE)
subsets("mtcars", mtcars[, -1], mtcars$mpg, "R datasets::mtcars; the data are in this file", keep_data = TRUE)
subsets("longley", longley[, -7], longley$Employed, "R datasets::longley: Employed; the data are in this file",
        keep_data = TRUE)
crime <- MASS::UScrime
subsets("uscrime", crime[, -16], crime$y, "R MASS::UScrime: y; the data are in this file", keep_data = TRUE)

diabetes <- read.csv(gzfile(file.path(data_dir, "diabetes64.csv.gz")), check.names = FALSE)
subsets("diabetes64", diabetes[, 2:31], diabetes$y,
        "diabetes64.csv.gz: the first column y explained by the 30 that follow")
communities <- read.csv(gzfile(file.path(data_dir, "communities.data.gz")), header = FALSE, na.strings = "?")
complete <- 6:127
complete <- complete[!vapply(communities[complete], anyNA, NA)][1:25]
subsets("communities", setNames(communities[complete], complete), communities[[128]],
        "communities.data.gz: the last column (128) explained by the first 25 complete ones from column 6")
