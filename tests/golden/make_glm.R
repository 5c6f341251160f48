# Writes the golden files glm_*.json: what R says about selection by step() for glm and coxph, by refits of glm.nb and
# polr, and about their fits.
#
#     Rscript tests/golden/make_glm.R
#
# Needs R with the packages MASS and survival, which also hold the data; the files contain the data as well. Feature
# indices count from 0, in the order of "columns". Factors are given as indicator columns, each a feature of its own.

library(MASS)
library(survival)
packages <- c("MASS", "stats", "survival")
script_name <- "tests/golden/make_glm.R"
script <- sub("^--file=", "", grep("^--file=", commandArgs(FALSE), value = TRUE))
out_dir <- if (length(script)) dirname(script) else "tests/golden"
source(file.path(out_dir, "json.R"))

tight <- glm.control(epsilon = 1e-14, maxit = 100)
tight_cox <- coxph.control(eps = 1e-13, toler.chol = 1e-14, iter.max = 100)

# ---- fits -----------------------------------------------------------------------------------------------------------

# A fitter makes the model of some features (counted from 0) of a frame with columns x0, x1, ...
right_side <- function(features) if (length(features)) paste0("x", features, collapse = " + ") else "1"
glm_fitter <- function(family, offset = NULL) function(frame, features) {
  frame$.offset <- if (is.null(offset)) 0 else offset
  text <- paste("y ~", right_side(features), "+ offset(.offset)")
  do.call(glm, list(formula = formula(text), family = family, data = frame, control = tight))
}
cox_fitter <- function(ties, strata = NULL) function(frame, features) {
  text <- paste("Surv(time, event) ~", right_side(features), if (is.null(strata)) "" else "+ strata(.strata)")
  frame$.strata <- strata
  do.call(coxph, list(formula = formula(text), data = frame, ties = ties, control = tight_cox))
}

# glm.nb estimates theta in every fit; step() would hold it fixed.
nb_fitter <- function(offset = NULL) function(frame, features) {
  frame$.offset <- if (is.null(offset)) 0 else offset
  text <- paste("y ~", right_side(features), "+ offset(.offset)")
  suppressWarnings(do.call(glm.nb, list(formula = formula(text), data = frame, control = tight)))
}
polr_fitter <- function(method, weights = NULL) function(frame, features) {
  frame$.weights <- if (is.null(weights)) 1 else weights
  frame$y <- factor(frame$y)
  suppressWarnings(do.call(polr, list(formula = formula(paste("y ~", right_side(features))), data = frame,
                                      weights = quote(.weights), method = method, Hess = TRUE,
                                      control = list(reltol = 1e-15, maxit = 5000))))
}

# Fisher scoring for gamma converges linearly, and the deviance long before the coefficients: 60 more iterations.
refined <- function(fit) {
  if (inherits(fit, c("coxph", "polr", "negbin")) || fit$family$family != "Gamma") return(fit)
  suppressWarnings(update(fit, start = coef(fit), control = glm.control(epsilon = 1e-300, maxit = 60)))
}

# polr differentiates numerically, which needs columns of one scale: those of the table follow by a linear map.
polr_errors <- function(fit) {
  p <- length(coef(fit)); m <- length(fit$zeta)
  if (!p) return(unname(sqrt(diag(vcov(fit)))))
  frame <- data.frame(y = fit$model[[1]], .weights = fit$model[["(weights)"]], scale(fit$model[names(coef(fit))]))
  centre <- colMeans(fit$model[names(coef(fit))]); size <- apply(fit$model[names(coef(fit))], 2, sd)
  text <- paste("y ~", paste(names(coef(fit)), collapse = " + "))
  scaled <- do.call(polr, list(formula = formula(text), data = frame, weights = quote(.weights), method = fit$method,
                               Hess = TRUE, control = list(reltol = 1e-15, maxit = 5000)))
  map <- rbind(cbind(matrix(centre / size, m, p, byrow = TRUE), diag(m)), cbind(diag(1 / size, p), matrix(0, p, m)))
  unname(sqrt(diag(map %*% vcov(scaled) %*% t(map))))
}

describe <- function(fit) {
  fit <- refined(fit)
  cox <- inherits(fit, "coxph")
  if (inherits(fit, "polr")) {
    return(list(loglik = as.numeric(logLik(fit)), deviance = deviance(fit),
                coef = values(unname(c(fit$zeta, coef(fit)))), std_error = values(polr_errors(fit))))
  }
  if (inherits(fit, "negbin"))
    return(list(loglik = as.numeric(logLik(fit)), theta = fit$theta, coef = values(unname(coef(fit))),
                std_error = values(unname(sqrt(diag(vcov(fit)))))))
  if (!length(coef(fit))) return(list(loglik = as.numeric(logLik(fit)), deviance = -2 * as.numeric(logLik(fit))))
  list(loglik = as.numeric(logLik(fit)), deviance = if (cox) -2 * as.numeric(logLik(fit)) else deviance(fit),
       coef = values(unname(coef(fit))), std_error = values(unname(sqrt(diag(vcov(fit))))))
}

# ---- paths ----------------------------------------------------------------------------------------------------------

# The moves of an exact loop over extractAIC: in every step all candidates are refitted. For glm and coxph with a fixed
# dispersion these are the moves of step(), which is checked below.
loop <- function(fitter, frame, p, direction, k) {
  value <- function(features) extractAIC(fitter(frame, sort(features)), k = k)[2]
  selected <- if (direction == "backward") seq_len(p) - 1 else integer(0)
  now <- value(selected)
  start <- now
  signs <- c(); features <- c(); scores <- c()
  repeat {
    adding <- if (direction == "backward") integer(0) else setdiff(seq_len(p) - 1, selected)
    removing <- if (direction == "forward") integer(0) else selected
    sets <- c(lapply(adding, function(j) c(selected, j)), lapply(removing, function(j) setdiff(selected, j)))
    after <- vapply(sets, value, 0)
    if (!length(after) || min(after) >= now) break
    best <- which.min(after)
    signs <- c(signs, if (best <= length(adding)) "+" else "-")
    features <- c(features, c(adding, removing)[best])
    selected <- sets[[best]]
    now <- after[best]
    scores <- c(scores, now)
  }
  list(k = k, start = start, signs = values(signs), features = values(features), scores = values(scores),
       final = values(sort(selected)), score = now)
}

# The final set and criterion of step().
by_step <- function(fitter, frame, p, direction, k) {
  all <- seq_len(p) - 1
  start <- fitter(frame, if (direction == "backward") all else integer(0))
  scope <- list(lower = ~1, upper = formula(paste("~", right_side(all))))
  final <- step(start, scope = scope, direction = direction, k = k, trace = 0, steps = 1e5)
  labels <- grep("^x[0-9]+$", attr(terms(final), "term.labels"), value = TRUE)
  list(final = sort(as.integer(sub("x", "", labels))), score = extractAIC(final, k = k)[2])
}

golden <- function(name, model, X, response, fitter, n, description, check_step = TRUE, extra = list()) {
  columns <- colnames(X)
  X <- unname(as.matrix(X)) * 1.0
  p <- ncol(X)
  frame <- data.frame(response, X)
  names(frame) <- c(names(response), paste0("x", seq_len(p) - 1))
  paths <- list()
  for (direction in c("forward", "backward", "both")) {
    for (criterion in c("aic", "bic")) {
      k <- if (criterion == "aic") 2 else log(n)
      path <- loop(fitter, frame, p, direction, k)
      if (check_step) {
        ours <- by_step(fitter, frame, p, direction, k)
        stopifnot(identical(as.integer(path$final[[1]]), ours$final), all.equal(path$score, ours$score, 1e-9))
      }
      paths[[direction]][[criterion]] <- path
    }
  }
  content <- list(dataset = name, model = model, description = description, n = n, columns = values(columns),
                  by = if (check_step) "step()" else "extractAIC() of every candidate", paths = paths,
                  full = describe(fitter(frame, seq_len(p) - 1)), null = describe(fitter(frame, integer(0))),
                  X = X, response = lapply(response, function(column) values(as.double(column))))
  write_golden(paste0("glm_", name), c(content, extra))
}

indicators <- function(frame) model.matrix(~ ., frame)[, -1]

# ---- data -----------------------------------------------------------------------------------------------------------

X <- indicators(transform(birthwt, race = factor(race))[, c("age", "lwt", "race", "smoke", "ptl", "ht", "ui", "ftv")])
golden("birthwt", "logistic", X, list(y = birthwt$low), glm_fitter(binomial()), nrow(X),
       "MASS::birthwt: low birth weight; race as indicators")
pima <- rbind(Pima.tr, Pima.te)
golden("pima", "logistic", pima[, 1:7], list(y = as.integer(pima$type == "Yes")), glm_fitter(binomial()), nrow(pima),
       "MASS::Pima.tr and Pima.te: diabetes")

golden("quine", "poisson", indicators(quine[, c("Eth", "Sex", "Age", "Lrn")]), list(y = quine$Days),
       glm_fitter(poisson()), nrow(quine), "MASS::quine: days of absence from school; factors as indicators")
golden("epil", "poisson", indicators(epil[, c("trt", "base", "age", "V4", "period", "lbase", "lage")]),
       list(y = epil$y), glm_fitter(poisson()), nrow(epil), "MASS::epil: seizures")
exposure <- log(Insurance$Holders)
golden("insurance", "poisson", indicators(data.frame(lapply(Insurance[, 1:3], factor, ordered = FALSE))),
       list(y = Insurance$Claims), glm_fitter(poisson(), exposure), nrow(Insurance),
       "MASS::Insurance: claims, with the log number of policy holders as offset; factors as indicators",
       extra = list(offset = values(exposure)))

golden("boston", "gamma", Boston[, 1:13], list(y = Boston$medv), glm_fitter(Gamma("log")), nrow(Boston),
       "MASS::Boston: median value of homes", check_step = FALSE)
golden("cpus", "gamma", cpus[, 2:7], list(y = cpus$perf), glm_fitter(Gamma("log")), nrow(cpus),
       "MASS::cpus: performance", check_step = FALSE)

complete <- na.omit(lung[, c("time", "status", "age", "sex", "ph.ecog", "ph.karno", "pat.karno", "meal.cal", "wt.loss")])
survival_of <- function(frame, event) list(time = frame$time, event = as.integer(event))
golden("lung", "cox", complete[, 3:9], survival_of(complete, complete$status == 2), cox_fitter("efron"),
       sum(complete$status == 2), "survival::lung, complete rows, Efron's ties", extra = list(ties = "efron"))
X <- indicators(veteran[, c("trt", "celltype", "karno", "diagtime", "age", "prior")])
golden("veteran", "cox", X, survival_of(veteran, veteran$status == 1), cox_fitter("breslow"), sum(veteran$status),
       "survival::veteran, Breslow's ties; cell type as indicators", extra = list(ties = "breslow"))
golden("veteran_strata", "cox", X[, -(2:4)], survival_of(veteran, veteran$status == 1),
       cox_fitter("efron", veteran$celltype), sum(veteran$status),
       "survival::veteran, Efron's ties, stratified by cell type", check_step = FALSE,
       extra = list(ties = "efron", strata = values(as.integer(veteran$celltype))))
pbc0 <- na.omit(pbc[, c("time", "status", "trt", "age", "edema", "bili", "chol", "albumin", "copper", "alk.phos", "ast",
                        "trig", "platelet", "protime", "stage")])
golden("pbc", "cox", pbc0[, -(1:2)], survival_of(pbc0, pbc0$status == 2), cox_fitter("efron"), sum(pbc0$status == 2),
       "survival::pbc, complete rows, death, Efron's ties", extra = list(ties = "efron"))

X <- indicators(quine[, c("Eth", "Sex", "Age", "Lrn")])
golden("quine_nb", "negative_binomial", X, list(y = quine$Days), nb_fitter(), nrow(quine),
       "MASS::quine: days of absence from school; factors as indicators", check_step = FALSE)
X <- indicators(epil[, c("trt", "base", "age", "V4", "period", "lbase", "lage")])
golden("epil_nb", "negative_binomial", X, list(y = epil$y), nb_fitter(), nrow(epil), "MASS::epil: seizures",
       check_step = FALSE)
X <- model.matrix(~ wool * tension, warpbreaks)[, -1]
golden("warpbreaks_nb", "negative_binomial", X, list(y = warpbreaks$breaks), nb_fitter(), nrow(warpbreaks),
       "datasets::warpbreaks: breaks of yarn; factors and their products as indicators", check_step = FALSE)
X <- indicators(epil[, c("trt", "age", "V4", "period")])
golden("epil_rate_nb", "negative_binomial", X, list(y = epil$y), nb_fitter(log(epil$base)), nrow(epil),
       "MASS::epil: seizures, with the log of those before the trial as offset", check_step = FALSE,
       extra = list(offset = values(log(epil$base))))

X <- indicators(data.frame(lapply(housing[, c("Infl", "Type", "Cont")], factor, ordered = FALSE)))
golden("housing", "ordinal", X, list(y = as.integer(housing$Sat)), polr_fitter("logistic", housing$Freq),
       sum(housing$Freq), "MASS::housing: satisfaction, with frequencies; factors as indicators", check_step = FALSE,
       extra = list(link = "logit", sample_weight = values(housing$Freq)))
golden("pbc_stage", "ordinal", pbc0[, 3:14], list(y = pbc0$stage), polr_fitter("logistic"), nrow(pbc0),
       "survival::pbc, complete rows: histologic stage", check_step = FALSE, extra = list(link = "logit"))
X <- indicators(quine[, c("Eth", "Sex", "Lrn", "Days")])
golden("quine_age", "ordinal", X, list(y = as.integer(quine$Age)), polr_fitter("probit"), nrow(quine),
       "MASS::quine: age group; factors as indicators", check_step = FALSE, extra = list(link = "probit"))
active <- na.omit(survey[, c("Exer", "Sex", "Wr.Hnd", "Pulse", "Height", "Age")])
level <- match(active$Exer, c("None", "Some", "Freq"))
golden("survey_exer", "ordinal", indicators(active[, -1]), list(y = level), polr_fitter("cloglog"), nrow(active),
       "MASS::survey, complete rows: exercise", check_step = FALSE, extra = list(link = "cloglog"))
