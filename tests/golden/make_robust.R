# Writes robust.json: coefficients and robust standard errors of R, of vcovHC(type = "HC3") for lm and glm and of
# coxph(robust = TRUE).
#
#     Rscript tests/golden/make_robust.R
#
# Needs R with the packages MASS, sandwich and survival; the file contains the data as well. Weights that are whole
# numbers are frequencies: R gets the repeated rows. Other weights are given to R as they are.

library(MASS)
library(sandwich)
library(survival)
packages <- c("MASS", "sandwich", "stats", "survival")
script_name <- "tests/golden/make_robust.R"
script <- sub("^--file=", "", grep("^--file=", commandArgs(FALSE), value = TRUE))
out_dir <- if (length(script)) dirname(script) else "tests/golden"
source(file.path(out_dir, "json.R"))

tight <- glm.control(epsilon = 1e-14, maxit = 100)
tight_cox <- coxph.control(eps = 1e-13, toler.chol = 1e-14, iter.max = 100)

# Weights as R takes them: rows repeated by whole numbers, and the weights themselves otherwise.
given <- function(data, weights) {
  whole <- is.null(weights) || all(weights == round(weights))
  rows <- if (is.null(weights) || !whole) seq_len(nrow(data)) else rep(seq_len(nrow(data)), weights)
  frame <- data[rows, ]
  frame$.w <- if (whole) 1 else weights
  frame
}

case <- function(model, data, columns, fit, y, weights = NULL, extra = list()) {
  found <- fit(given(data, weights))
  cox <- inherits(found, "coxph")
  keep <- if (cox) seq_along(coef(found)) else -1
  covariance <- if (cox) found$var else vcovHC(found, type = "HC3")
  c(list(model = model, X = unname(as.matrix(data[columns])), y = unname(as.matrix(data[y])),
         weights = if (is.null(weights)) NULL else values(weights),
         coef = values(unname(coef(found)[keep])), std_error = values(unname(sqrt(diag(covariance))[keep]))), extra)
}

# Fisher scoring for gamma converges linearly, and the deviance long before the coefficients: 60 more iterations.
weighted_glm <- function(text, family) function(frame) {
  run <- function(...) suppressWarnings(do.call(glm, list(formula(text), family, frame, weights = quote(.w), ...)))
  fit <- run(control = tight)
  if (family$family != "Gamma") return(fit)
  run(start = coef(fit), control = glm.control(epsilon = 1e-300, maxit = 60))
}
cox <- function(text, ties = "efron") function(frame)
  do.call(coxph, list(formula(text), frame, weights = quote(.w), ties = ties, robust = TRUE, control = tight_cox))
linear <- function(frame) lm(mpg ~ wt + hp + qsec, frame, weights = .w)

quine_x <- data.frame(days = quine$Days, male = as.numeric(quine$Sex == "M"), slow = as.numeric(quine$Lrn == "SL"),
                      grade = as.numeric(quine$Age))
insurance <- transform(Insurance, positive = Claims + 0.5, group = as.numeric(Group), age = as.numeric(Age),
                       log_holders = log(Holders))
lungs <- na.omit(lung[c("time", "status", "age", "sex", "ph.ecog")])
lungs$event <- lungs$status - 1
lungs$ecog <- lungs$ph.ecog
survivors <- transform(veteran, event = status)
survivors$arm <- as.numeric(survivors$trt)
counts <- function(n) 1 + (seq_len(n) * 7) %% 3
shares <- function(n) 0.25 + ((seq_len(n) * 5) %% 8) / 7

vs <- c("wt", "hp", "qsec")
qs <- c("male", "slow", "grade")
vet <- c("karno", "age", "diagtime")
days <- cbind(survivors, month = ceiling(survivors$time / 30))  # many ties
cases <- list(
  linear = case("linear", mtcars, vs, linear, "mpg"),
  linear_counts = case("linear", mtcars, vs, linear, "mpg", counts(32)),
  linear_shares = case("linear", mtcars, vs, linear, "mpg", shares(32)),
  logistic = case("logistic", birthwt, c("age", "lwt", "smoke", "ht"),
                  weighted_glm("low ~ age + lwt + smoke + ht", binomial()), "low"),
  logistic_counts = case("logistic", birthwt, c("age", "lwt", "smoke", "ht"),
                         weighted_glm("low ~ age + lwt + smoke + ht", binomial()), "low", counts(189)),
  poisson = case("poisson", quine_x, qs, weighted_glm("days ~ male + slow + grade", poisson()), "days"),
  poisson_shares = case("poisson", quine_x, qs, weighted_glm("days ~ male + slow + grade", poisson()), "days",
                        shares(nrow(quine_x))),
  gamma = case("gamma", insurance, c("group", "age", "log_holders"),
               weighted_glm("positive ~ group + age + log_holders", Gamma("log")), "positive"),
  cox = case("cox", survivors, vet, cox("Surv(time, event) ~ karno + age + diagtime"), c("time", "event")),
  cox_ties = case("cox", days, vet, cox("Surv(month, event) ~ karno + age + diagtime"), c("month", "event")),
  cox_breslow = case("cox", days, vet, cox("Surv(month, event) ~ karno + age + diagtime", "breslow"),
                     c("month", "event"), extra = list(ties = "breslow")),
  cox_counts = case("cox", days, vet, cox("Surv(month, event) ~ karno + age + diagtime"), c("month", "event"),
                    counts(nrow(days))),
  cox_shares = case("cox", days, vet, cox("Surv(month, event) ~ karno + age + diagtime", "breslow"),
                    c("month", "event"), shares(nrow(days)), list(ties = "breslow")),
  cox_strata = case("cox", lungs, c("age", "ecog"), cox("Surv(time, event) ~ age + ecog + strata(sex)"),
                    c("time", "event"), extra = list(strata = values(lungs$sex)))
)
drop_null <- function(one) one[!vapply(one, is.null, TRUE)]
write_golden("robust", list(cases = lapply(cases, drop_null)))
