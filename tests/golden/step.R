# Sourced by the scripts of this folder.

# The moves of step(): sign + or -, the feature, extractAIC and the residual sum of squares after the move.
step_path <- function(frame, direction, k) {
  full <- formula(paste("y ~", paste(setdiff(names(frame), "y"), collapse = " + ")))
  null <- lm(y ~ 1, frame)
  start <- if (direction == "backward") lm(full, frame) else null
  final <- step(start, scope = list(lower = ~1, upper = full), direction = direction, k = k, trace = 0, steps = 1e5)
  moves <- final$anova
  label <- as.character(moves$Step)[-1]
  kept <- attr(terms(final), "term.labels")
  list(k = k, start_aic = moves$AIC[1], start_rss = moves[["Resid. Dev"]][1],
       signs = values(substr(label, 1, 1)), features = values(as.integer(sub("^[+-] x", "", label))),
       aic = values(moves$AIC[-1]), rss = values(moves[["Resid. Dev"]][-1]),
       final = values(sort(as.integer(sub("^x", "", kept)))), final_aic = extractAIC(final, k = k)[2])
}
