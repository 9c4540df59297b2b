"""The driver of bench/: what is measured (catalog), what for (targets), how (building, measuring),
and what is written about it (results, report)."""
