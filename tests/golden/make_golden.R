# Writes the golden files of this folder: what R says about forward, backward and stepwise selection and about MANOVA.
#
#     Rscript tests/golden/make_golden.R [DATA_DIR]
#
# DATA_DIR holds the public datasets; without it the environment variable DROPSTEP_DATA is used, then ../shared/data.
# Needs R with the packages leaps and MASS. Feature indices in the files count from 0, in the order of "columns".

library(leaps)
packages <- c("leaps", "stats")
script_name <- "tests/golden/make_golden.R"

arguments <- commandArgs(trailingOnly = TRUE)
data_dir <- if (length(arguments)) arguments[1] else Sys.getenv("DROPSTEP_DATA", "../shared/data")
script <- sub("^--file=", "", grep("^--file=", commandArgs(FALSE), value = TRUE))
out_dir <- if (length(script)) dirname(script) else "tests/golden"
if (!dir.exists(data_dir)) stop("no folder of datasets at ", data_dir, ": give it as the first argument")

source(file.path(out_dir, "json.R"))
source(file.path(out_dir, "step.R"))

# ---- regression ---------------------------------------------------------------------------------------------------

# The path of leaps: the order of entry (for backward: the last to be removed comes first) and the RSS and Cp of its
# first 1, 2, ... features. leaps also keeps a table of the best set it met of every size; that table could hold a set
# that is not on the path (it starts with the columns in the given order), so it is checked that it does not.
leaps_path <- function(X, y, method) {
  p <- ncol(X)
  n <- length(y)
  size <- seq_len(p)
  fit <- regsubsets(X, y, method = method, nvmax = p, nbest = 1, really.big = TRUE)
  order <- fit$vorder[-1] - 2                     # vorder counts the intercept as 1
  table <- summary(fit)
  for (k in size) stopifnot(setequal(which(table$which[k, -1]) - 1, order[1:k]))
  stopifnot(all.equal(table$rss, fit$rss[-1], tolerance = 1e-10))
  before <- c(fit$rss[1], table$rss[-p])
  partial_F <- (before - table$rss) / (table$rss / (n - size - 1))
  list(order = values(order), rss_null = fit$rss[1], rss = values(table$rss), cp = values(table$cp),
       partial_F = values(partial_F), p_value = values(pf(partial_F, 1, n - size - 1, lower.tail = FALSE)))
}

regression <- function(name, X, y, description, keep_data = FALSE, note = NULL) {
  columns <- colnames(X)
  X <- unname(as.matrix(X))
  rank <- qr(cbind(1, scale(X)))$rank
  if (rank < ncol(X) + 1) stop(name, ": collinear columns")
  frame <- data.frame(y = y, X)
  names(frame) <- c("y", paste0("x", seq_len(ncol(X)) - 1))
  steps <- list()
  for (direction in c("forward", "backward", "both")) {
    steps[[direction]] <- list(aic = step_path(frame, direction, 2), bic = step_path(frame, direction, log(length(y))))
  }
  content <- list(dataset = name, description = description, n = length(y), columns = values(columns),
                  leaps = list(forward = leaps_path(X, y, "forward"), backward = leaps_path(X, y, "backward")),
                  step = steps)
  if (!is.null(note)) content$note <- note
  if (keep_data) content <- c(content, list(X = X, y = values(y)))
  write_golden(paste0("regression_", name), content)
}

regression("swiss", swiss[, -1], swiss$Fertility,
           "R datasets::swiss: Fertility explained by the other five columns; the data are in this file",
           keep_data = TRUE)
regression("mtcars", mtcars[, -1], mtcars$mpg,
           "R datasets::mtcars: mpg explained by the other ten columns; the data are in this file", keep_data = TRUE)

diabetes <- read.csv(gzfile(file.path(data_dir, "diabetes64.csv.gz")), check.names = FALSE)
regression("diabetes64", diabetes[, -1], diabetes$y,
           "diabetes64.csv.gz: the first column y explained by the 64 that follow")

communities <- read.csv(gzfile(file.path(data_dir, "communities.data.gz")), header = FALSE, na.strings = "?")
complete <- 6:127
complete <- complete[!vapply(communities[complete], anyNA, NA)]
regression("communities", setNames(communities[complete], complete), communities[[128]],
           "communities.data.gz: the last column (128) explained by the complete ones of columns 6 to 127",
           note = paste("columns carry their number in the file, from 1; the 22 police columns and OtherPerCap have",
                        "missing values and are left out"))

# ---- coefficients of a table with factors -----------------------------------------------------------------------

# Forward by the residual sum of squares over terms, each with its F test by add1(); until a term adds nothing.
forward_terms <- function(frame, scope) {
  fit <- lm(y ~ 1, frame)
  found <- c()
  for (k in seq_along(scope)) {
    table <- suppressWarnings(add1(fit, scope = reformulate(scope), test = "F"))[-1, ]
    best <- which.min(table$RSS)
    if (table$Df[best] == 0) break
    found <- rbind(found, data.frame(term = rownames(table)[best], df1 = table$Df[best],
                                     df2 = df.residual(fit) - table$Df[best], F = table[["F value"]][best],
                                     p = table[["Pr(>F)"]][best]))
    fit <- update(fit, paste(". ~ . +", rownames(table)[best]))
  }
  found
}

# The coefficient table of lm() with treatment contrasts, on the rows repeated as often as the weights say; the F tests
# of forward additions, and those of single removals by drop1(). Terms count from 0.
coefficients_of <- function(name, frame, description, weights = rep(1, nrow(frame))) {
  repeated <- frame[rep(seq_len(nrow(frame)), weights), ]
  scope <- setdiff(names(frame), "y")
  fit <- lm(reformulate(scope, "y"), repeated)
  design <- model.matrix(reformulate(scope), frame)
  table <- matrix(NA, ncol(design), 4, dimnames = list(colnames(design), NULL))
  summarised <- summary(fit)
  table[rownames(summarised$coefficients), ] <- summarised$coefficients
  added <- forward_terms(repeated, scope)
  dropped <- drop1(fit, test = "F")[-1, ]
  content <- list(dataset = name, description = description, n = sum(weights), columns = values(colnames(design)[-1]),
                  terms = values(attr(design, "assign")[-1] - 1), estimate = values(table[, 1]),
                  std_error = values(table[, 2]), t = values(table[, 3]), p_value = values(table[, 4]),
                  df_resid = df.residual(fit), r2 = summarised$r.squared, adj_r2 = summarised$adj.r.squared,
                  added = list(terms = values(match(added$term, scope) - 1), df1 = values(added$df1),
                               df2 = values(added$df2), F = values(added$F), p_value = values(added$p)),
                  dropped = list(df1 = values(dropped$Df), F = values(dropped[["F value"]]),
                                 p_value = values(dropped[["Pr(>F)"]])),
                  weights = values(weights), X = unname(design[, -1]), y = values(frame$y))
  write_golden(paste0("lm_", name), content)
}

coefficients_of("mtcars", with(mtcars, data.frame(y = mpg, cyl = factor(cyl), gear = factor(gear), wt, hp, qsec)),
                "R datasets::mtcars: mpg by the factors cyl and gear, and wt, hp, qsec; the data are in this file")
coefficients_of("mtcars_weighted", with(mtcars, data.frame(y = mpg, cyl = factor(cyl), gear = factor(gear), wt, hp)),
                "R datasets::mtcars: mpg by the factors cyl and gear, and wt, hp; each row as often as carb says",
                weights = mtcars$carb)
coefficients_of("CO2", with(CO2, data.frame(y = uptake, plant = factor(as.character(Plant)), type = Type,
                                            treatment = Treatment, conc)),
                "R datasets::CO2: uptake by plant, type, treatment and conc; plant determines type and treatment")
# ---- regression with factors --------------------------------------------------------------------------------------

# The table as it is: numbers, and factors as codes from 0 with their levels; null where a value is missing. step() runs on
# the complete rows.
factors <- function(name, frame, target, description) {
  features <- frame[setdiff(names(frame), target)]
  complete <- droplevels(frame[complete.cases(frame), ])
  table <- data.frame(y = complete[[target]], complete[names(features)])
  names(table) <- c("y", paste0("x", seq_along(features) - 1))
  steps <- list()
  for (direction in c("forward", "backward", "both")) {
    steps[[direction]] <- list(aic = step_path(table, direction, 2), bic = step_path(table, direction, log(nrow(table))))
  }
  column <- function(x) {
    if (!is.factor(x)) return(list(values = values(x)))
    list(levels = values(levels(x)), values = values(as.integer(x) - 1))
  }
  write_golden(paste0("factors_", name),
               list(dataset = name, description = description, target = target, n = nrow(frame),
                    n_complete = nrow(complete), columns = values(names(features)), step = steps,
                    y = values(frame[[target]]), features = lapply(unname(as.list(features)), column)))
}

survey <- MASS::survey[c("Height", "Sex", "Wr.Hnd", "NW.Hnd", "W.Hnd", "Fold", "Pulse", "Clap", "Exer", "Smoke", "Age")]
factors("survey", survey, "Height", "R MASS::survey: the height of students, explained by their answers")
cars93 <- MASS::Cars93[setdiff(names(MASS::Cars93), c("Manufacturer", "Model", "Make", "Min.Price", "Max.Price"))]
factors("cars93", cars93, "Price", "R MASS::Cars93: the mid-range price of a car, explained by its properties")

# ---- MANOVA -------------------------------------------------------------------------------------------------------

# Scatters within and between classes.
scatters <- function(X, class) {
  means <- rowsum(X, class) / as.vector(table(class))
  within <- crossprod(X - means[as.character(class), ])
  between <- crossprod(sqrt(as.vector(table(class))) * sweep(means, 2, colMeans(X)))
  list(within = within, between = between)
}

trace_of <- function(s, A) sum(diag(solve(s$within[A, A, drop = FALSE], s$between[A, A, drop = FALSE], tol = 1e-14)))

# summary(manova()) wants two responses at least; for one feature the only eigenvalue is F * df1 / df2 of aov.
manova_statistics <- function(X, class) {
  if (ncol(X) == 1) {
    table <- summary(aov(X[, 1] ~ class))[[1]]
    lambda <- table[1, "F value"] * table[1, "Df"] / table[2, "Df"]
    return(c(trace = lambda, wilks = 1 / (1 + lambda), pillai = lambda / (1 + lambda), roy = lambda))
  }
  fit <- manova(X ~ class)
  of <- function(test) summary(fit, test = test, tol = 1e-14)$stats["class", 2]
  c(trace = of("Hotelling-Lawley"), wilks = of("Wilks"), pillai = of("Pillai"), roy = of("Roy"))
}

# The partial F of a feature: does the class explain it beyond the features selected before? An analysis of covariance.
partial_F <- function(x, before, class) {
  small <- if (ncol(before)) lm(x ~ before) else lm(x ~ 1)
  large <- if (ncol(before)) lm(x ~ before + class) else lm(x ~ class)
  test <- anova(small, large)
  c(F = test$F[2], df1 = test$Df[2], df2 = test$Res.Df[2], p = test[["Pr(>F)"]][2])
}

discriminant <- function(name, X, class, description, size = 10, keep_data = FALSE, note = NULL) {
  columns <- colnames(X)
  X <- unname(as.matrix(X))
  class <- factor(class)
  s <- scatters(X, class)
  varies <- which(apply(X, 2, function(x) diff(range(x)) > 0))
  path <- c(); statistics <- c(); entering <- c(); gap <- c()
  for (k in seq_len(min(size, length(varies)))) {
    pool <- setdiff(varies, path)
    traces <- vapply(pool, function(j) trace_of(s, c(path, j)), 0)
    best <- sort(traces, decreasing = TRUE)
    gap <- c(gap, if (length(best) > 1) 1 - best[2] / best[1] else NA)
    j <- pool[which.max(traces)]
    entering <- rbind(entering, partial_F(X[, j], X[, path, drop = FALSE], class))
    path <- c(path, j)
    statistics <- rbind(statistics, manova_statistics(X[, path, drop = FALSE], class))
    stopifnot(all.equal(max(traces), unname(statistics[k, "trace"]), tolerance = 1e-8))
  }
  content <- list(dataset = name, description = description, n = nrow(X), n_classes = nlevels(class),
                  columns = values(columns), n_varying = length(varies), path = values(path - 1),
                  trace = values(statistics[, "trace"]), wilks = values(statistics[, "wilks"]),
                  pillai = values(statistics[, "pillai"]), roy = values(statistics[, "roy"]),
                  partial_F = values(entering[, "F"]), df1 = values(entering[, "df1"]), df2 = values(entering[, "df2"]),
                  p_value = values(entering[, "p"]), gap_to_second_best = values(gap),
                  note = paste(c("greedy by the Hotelling-Lawley trace",
                                 "statistics by summary(manova()), for one feature by aov()",
                                 "partial F by anova() of the entering feature on the earlier ones, then with class",
                                 note), collapse = "; "))
  if (keep_data) content <- c(content, list(X = X, y = values(as.character(class))))
  write_golden(paste0("manova_", name), content)
}

plain <- function(file, sep) read.table(file.path(data_dir, file), sep = sep, stringsAsFactors = FALSE)
split_last <- function(frame) {
  p <- ncol(frame) - 1
  list(X = setNames(frame[seq_len(p)], seq_len(p)), y = frame[[p + 1]])
}

discriminant("iris", iris[, 1:4], iris$Species, "R datasets::iris; the data are in this file", keep_data = TRUE)
d <- split_last(plain("sat.trn", ""))
discriminant("satellite", d$X, d$y, "sat.trn: 36 features, the last column is the class")
d <- split_last(plain("optdigits.tra", ","))
discriminant("optdigits", d$X, d$y, "optdigits.tra: 64 features, the last column is the class",
             note = "columns 1 and 40 (counted from 1) are constant and no candidates")
d <- split_last(plain("biodeg.csv", ";"))
discriminant("biodeg", d$X, d$y, "biodeg.csv: 41 features, the last column is the class")
d <- split_last(plain("ionosphere.data", ","))
discriminant("ionosphere", d$X, d$y, "ionosphere.data: 34 features, the last column is the class",
             note = "column 2 (counted from 1) is constant and no candidate")
