"""Linear regression problems of the NIST Statistical Reference Datasets, with their certified values.

Source: National Institute of Standards and Technology, StRD, linear regression,
https://www.itl.nist.gov/div898/strd/lls/lls.shtml (public domain): Longley (1967), Filippelli, Wampler (1970).

Numbers are kept as NIST prints them, as decimal strings, so that nothing is rounded before we choose to. Every problem
offers its columns twice: `exact()` has the decimals as fractions and powers of them without rounding, which is what
NIST certifies; `stored()` has every entry rounded to the nearest double, which is what a library is given. `exact_rss`
takes either.
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache


@dataclass(frozen=True)
class Problem:
    """y explained by the columns of x, or by x, x^2, ..., x^degree when degree is given."""

    name: str
    x: tuple[tuple[str, ...], ...]
    y: tuple[str, ...]
    degree: int | None
    rss: str
    r2: str
    residual_sd: str
    coefficients: tuple[str, ...]  # the intercept first

    @property
    def n_features(self) -> int:
        return self.degree or len(self.x[0])

    def exact(self) -> tuple[tuple[tuple[Fraction, ...], ...], tuple[Fraction, ...]]:
        """Rows and target as the decimals say, powers not rounded."""
        rows = tuple(tuple(map(Fraction, row)) for row in self.x)
        if self.degree:
            rows = tuple(tuple(x**k for k in range(1, self.degree + 1)) for (x,) in rows)
        return rows, tuple(map(Fraction, self.y))

    def stored(self) -> tuple[tuple[tuple[float, ...], ...], tuple[float, ...]]:
        """Rows and target with every entry rounded once, to the nearest double."""
        rows, y = self.exact()
        return tuple(tuple(map(float, row)) for row in rows), tuple(map(float, y))


@lru_cache
def _cross_products(rows, y):
    """[1 X y]'[1 X y] without rounding: floats are fractions too."""
    table = [[Fraction(1), *map(Fraction, row), Fraction(target)] for row, target in zip(rows, y, strict=True)]
    columns = list(zip(*table, strict=True))
    return [[sum(a * b for a, b in zip(left, right, strict=True)) for right in columns] for left in columns]


def exact_rss(rows, y, subset) -> Fraction:
    """Residual sum of squares of y on an intercept and the columns in subset, by elimination without rounding.

    A column in the span of the ones before it has pivot exactly 0 and is passed over.
    """
    products = _cross_products(tuple(map(tuple, rows)), tuple(y))
    kept = [0, *(j + 1 for j in subset), len(products) - 1]
    a = [[products[i][j] for j in kept] for i in kept]
    last = len(a) - 1
    for k in range(last):
        if a[k][k] == 0:
            continue
        for i in range(k + 1, last + 1):
            factor = a[i][k] / a[k][k]
            for j in range(k + 1, last + 1):
                a[i][j] -= factor * a[k][j]
    return a[last][last]


def exact_forward(rows, y) -> list[tuple[int, Fraction]]:
    """Forward selection by residual sum of squares without rounding: (feature, RSS) in order of entry, to the end."""
    selected: list[tuple[int, Fraction]] = []
    rest = set(range(len(rows[0])))
    while rest:
        chosen = [j for j, _ in selected]
        rss, best = min((exact_rss(rows, y, [*chosen, j]), j) for j in rest)
        selected.append((best, rss))
        rest.remove(best)
    return selected


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


def _rows(text: str) -> tuple[tuple[str, ...], ...]:
    return tuple(_words(line) for line in text.strip().splitlines())


# y, then GNP deflator, GNP, unemployed, armed forces, population, year
_LONGLEY = _rows("""
60323  83.0 234289 2356 1590 107608 1947
61122  88.5 259426 2325 1456 108632 1948
60171  88.2 258054 3682 1616 109773 1949
61187  89.5 284599 3351 1650 110929 1950
63221  96.2 328975 2099 3099 112075 1951
63639  98.1 346999 1932 3594 113270 1952
64989  99.0 365385 1870 3547 115094 1953
63761 100.0 363112 3578 3350 116219 1954
66019 101.2 397469 2904 3048 117388 1955
67857 104.6 419180 2822 2857 118734 1956
68169 108.4 442769 2936 2798 120445 1957
66513 110.8 444546 4681 2637 121950 1958
68655 112.6 482704 3813 2552 123366 1959
69564 114.2 502601 3931 2514 125368 1960
69331 115.7 518173 4806 2572 127852 1961
70551 116.9 554894 4007 2827 130081 1962
""")

# y, x
_FILIP = _rows("""
0.8116 -6.860120914
0.9072 -4.324130045
0.9052 -4.358625055
0.9039 -4.358426747
0.8053 -6.955852379
0.8377 -6.661145254
0.8667 -6.355462942
0.8809 -6.118102026
0.7975 -7.115148017
0.8162 -6.815308569
0.8515 -6.519993057
0.8766 -6.204119983
0.8885 -5.853871964
0.8859 -6.109523091
0.8959 -5.79832982
0.8913 -5.482672118
0.8959 -5.171791386
0.8971 -4.851705903
0.9021 -4.517126416
0.909 -4.143573228
0.9139 -3.709075441
0.9199 -3.499489089
0.8692 -6.300769497
0.8872 -5.953504836
0.89 -5.642065153
0.891 -5.031376979
0.8977 -4.680685696
0.9035 -4.329846955
0.9078 -3.928486195
0.7675 -8.56735134
0.7705 -8.363211311
0.7713 -8.107682739
0.7736 -7.823908741
0.7775 -7.522878745
0.7841 -7.218819279
0.7971 -6.920818754
0.8329 -6.628932138
0.8641 -6.323946875
0.8804 -5.991399828
0.7668 -8.781464495
0.7633 -8.663140179
0.7678 -8.473531488
0.7697 -8.247337057
0.77 -7.971428747
0.7749 -7.676129393
0.7796 -7.352812702
0.7897 -7.072065318
0.8131 -6.774174009
0.8498 -6.478861916
0.8741 -6.159517513
0.8061 -6.835647144
0.846 -6.53165267
0.8751 -6.224098421
0.8856 -5.910094889
0.8919 -5.598599459
0.8934 -5.290645224
0.894 -4.974284616
0.8957 -4.64454848
0.9047 -4.290560426
0.9129 -3.885055584
0.9209 -3.408378962
0.9219 -3.13200249
0.7739 -8.726767166
0.7681 -8.66695597
0.7665 -8.511026475
0.7703 -8.165388579
0.7702 -7.886056648
0.7761 -7.588043762
0.7809 -7.283412422
0.7961 -6.995678626
0.8253 -6.691862621
0.8602 -6.392544977
0.8809 -6.067374056
0.8301 -6.684029655
0.8664 -6.378719832
0.8834 -6.065855188
0.8898 -5.752272167
0.8964 -5.132414673
0.8963 -4.811352704
0.9074 -4.098269308
0.9119 -3.66174277
0.9228 -3.2644011
""")

_WAMPLER_X = tuple((str(x),) for x in range(21))
_ONES = ("1", "1", "1", "1", "1", "1")

LONGLEY = Problem(
    name="Longley",
    x=tuple(row[1:] for row in _LONGLEY),
    y=tuple(row[0] for row in _LONGLEY),
    degree=None,
    rss="836424.055505915",
    r2="0.995479004577296",
    residual_sd="304.854073561965",
    coefficients=_words(
        "-3482258.63459582 15.0618722713733 -0.358191792925910E-01 -2.02022980381683 -1.03322686717359"
        " -0.511041056535807E-01 1829.15146461355"
    ),
)

FILIP = Problem(
    name="Filip",
    x=tuple(row[1:] for row in _FILIP),
    y=tuple(row[0] for row in _FILIP),
    degree=10,
    rss="0.795851382172941E-03",
    r2="0.996727416185620",
    residual_sd="0.334801051324544E-02",
    coefficients=_words(
        "-1467.48961422980 -2772.17959193342 -2316.37108160893 -1127.97394098372 -354.478233703349 -75.1242017393757"
        " -10.8753180355343 -1.06221498588947 -0.670191154593408E-01 -0.246781078275479E-02 -0.402962525080404E-04"
    ),
)

WAMPLER1 = Problem(
    name="Wampler1",
    x=_WAMPLER_X,
    y=_words(
        "1 6 63 364 1365 3906 9331 19608 37449 66430 111111 177156 271453 402234 579195 813616 1118481 1508598 2000719"
        " 2613660 3368421"
    ),
    degree=5,
    rss="0",
    r2="1",
    residual_sd="0",
    coefficients=_ONES,
)

WAMPLER2 = Problem(
    name="Wampler2",
    x=_WAMPLER_X,
    y=_words(
        "1.00000 1.11111 1.24992 1.42753 1.65984 1.96875 2.38336 2.94117 3.68928 4.68559 6.00000 7.71561 9.92992"
        " 12.75603 16.32384 20.78125 26.29536 33.05367 41.26528 51.16209 63.00000"
    ),
    degree=5,
    rss="0",
    r2="1",
    residual_sd="0",
    coefficients=("1", "0.1", "0.01", "0.001", "0.0001", "0.00001"),
)

WAMPLER3 = Problem(
    name="Wampler3",
    x=_WAMPLER_X,
    y=_words(
        "760 -2042 2111 -1684 3888 1858 11379 17560 39287 64382 113159 175108 273291 400186 581243 811568 1121004"
        " 1506550 2002767 2611612 3369180"
    ),
    degree=5,
    rss="83554268.0000000",
    r2="0.999995559025820",
    residual_sd="2360.14502379268",
    coefficients=_ONES,
)

WAMPLER4 = Problem(
    name="Wampler4",
    x=_WAMPLER_X,
    y=_words(
        "75901 -204794 204863 -204436 253665 -200894 214131 -185192 221249 -138370 315911 -27644 455253 197434 783995"
        " 608816 1370781 1303798 2205519 2408860 3444321"
    ),
    degree=5,
    rss="835542680000.000",
    r2="0.957478440825662",
    residual_sd="236014.502379268",
    coefficients=_ONES,
)

WAMPLER5 = Problem(
    name="Wampler5",
    x=_WAMPLER_X,
    y=_words(
        "7590001 -20479994 20480063 -20479636 25231365 -20476094 20489331 -20460392 18417449 -20413570 20591111"
        " -20302844 18651453 -20077766 21059195 -19666384 26348481 -18971402 22480719 -17866340 10958421"
    ),
    degree=5,
    rss="0.835542680000000E+16",
    r2="0.224668921574940E-02",
    residual_sd="23601450.2379268",
    coefficients=_ONES,
)

PROBLEMS = (LONGLEY, FILIP, WAMPLER1, WAMPLER2, WAMPLER3, WAMPLER4, WAMPLER5)
