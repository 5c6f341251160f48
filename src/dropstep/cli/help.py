"""The texts of --help: quick start, columns, examples, exit codes."""

WINE = """python -c "import numpy as n, sklearn.datasets as d; w = d.load_wine(); n.savetxt(
    'wine.csv', n.c_[w.data, w.target], '%g', ',', comments='',
    header=','.join([*w.feature_names, 'class']))\""""

ABOUT = "Select the features of a table that explain a target."
EXIT_CODES = """\
exit codes:
  0    success
  1    an internal error in dropstep (please report it with the output of --traceback)
  2    an error in the request or in the file, explained in one sentence
  130  interrupted (Ctrl-C)
  141  the output pipe was closed (as in: dropstep ... | head -1)
"""
EPILOG = f"""\
quick start, with a table from scikit-learn:
  {WINE}
  dropstep select wine.csv --target class
  dropstep compare wine.csv --target class

dropstep COMMAND --help describes a command.

{EXIT_CODES}"""

COLUMNS = """\
columns (COL, COLS):
  A column is given by its name or by its number: 1 is the first, -1 the last.
  COLS are several columns: separated by commas, a range of numbers, or by
  repeating the option, as in --exclude id,date --exclude 7-9. Without a header,
  the columns are named c1, c2, ...

  Text and true/false columns are categorical and are selected as a whole;
  --missing level makes their missing values a level.
  Dates, and text with more than 1000 levels or with more than one level per two
  rows, are ignored with a note.
"""
SELECT = f"""\
{COLUMNS}
examples (dropstep --help shows how to make wine.csv):
  dropstep select wine.csv --target class
  dropstep select wine.csv --target class --report wine.html --output few.csv
  dropstep select wine.csv --target class --max-features 3 --format json
  dropstep select wine.csv --target alcohol --exclude class --strategy stepwise
  dropstep select wine.csv --target alcohol --criterion ebic:gamma=0.5
  dropstep select wine.csv --target class --model logistic --criterion aic
  dropstep select wine.csv --target alcohol --criterion cp:sigma2=0.3,per_sample
  dropstep select wine.csv --target class --model sklearn.naive_bayes:GaussianNB --cv 5
  gzip -c wine.csv | dropstep select - --target -1 --dry-run

{EXIT_CODES}"""
COMPARE = f"""\
{COLUMNS}
errors:
  Errors are cross-validated, with the selection repeated on the training rows
  of every fold: the error rate of linear discriminant analysis, or the root
  mean squared error of linear regression. Two more rows show the error with all
  features and with none. If rows are dependent (such as several recordings of
  one person), give the column that identifies them with --groups-column: they
  stay in one fold, since errors would be optimistically biased otherwise.

examples (dropstep --help shows how to make wine.csv):
  dropstep compare wine.csv --target class
  dropstep compare wine.csv --target class --strategies dropping,stepwise --svm
  dropstep compare wine.csv --target alcohol --folds 10 --seed 7 --format csv

{EXIT_CODES}"""
COMPLETION = """\
to enable it:
  bash:  dropstep completion bash >> ~/.bash_completion
  zsh:   dropstep completion zsh > "${fpath[1]}/_dropstep"
  fish:  dropstep completion fish > ~/.config/fish/completions/dropstep.fish
  tcsh:  dropstep completion tcsh >> ~/.tcshrc

It needs the package shtab: pip install 'dropstep[cli]'.
"""
