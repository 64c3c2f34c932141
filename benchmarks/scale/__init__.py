"""How toolfold does as the catalog grows: make bench-scale."""
