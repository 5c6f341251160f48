# Sourced by the scripts of this folder, which define out_dir, packages and script_name.

# ---- JSON: numbers with 17 significant digits, so that a reader gets the same doubles -----------------------------

# A vector is written as a list, one value as itself; values() keeps a vector of length one a list.
values <- function(x) structure(list(x), class = "values")

json <- function(x) {
  if (inherits(x, "values")) return(paste0("[", paste(json_values(x[[1]]), collapse = ","), "]"))
  if (is.matrix(x)) return(paste0("[", paste(apply(x, 1, function(row) json(values(row))), collapse = ",\n"), "]"))
  if (is.list(x) && !is.null(names(x)))
    return(paste0("{", paste0(json_values(names(x)), ": ", vapply(x, json, ""), collapse = ",\n"), "}"))
  if (is.list(x)) return(paste0("[", paste(vapply(x, json, ""), collapse = ",\n"), "]"))
  if (length(x) == 1) json_values(x) else json(values(x))
}

json_values <- function(x) {
  if (is.character(x)) return(sprintf("\"%s\"", gsub("([\"\\\\])", "\\\\\\1", x)))
  if (is.logical(x)) return(ifelse(x, "true", "false"))
  ifelse(is.finite(x), sprintf("%.17g", as.double(x)), "null")
}

write_golden <- function(name, content) {
  versions <- lapply(setNames(packages, packages), function(package) as.character(packageVersion(package)))
  made_by <- c(list(R = R.version.string), versions, list(script = script_name))
  file <- file.path(out_dir, paste0(name, ".json"))
  writeLines(json(c(list(made_by = made_by), content)), file)
  cat(sprintf("%-28s %6.1f KB\n", basename(file), file.size(file) / 1000))
}
