"""One module a rule. Each has check(tree), which yields a Finding for each breach."""
from . import bans, contract, folders, layers, orders, orphans, planted, sizes, words

ALL = [layers, sizes, bans, orders, orphans, folders, words, contract, planted]
