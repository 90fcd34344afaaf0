"""How fast it is, on real workerd: `make bench`. Never a test: a slow machine is no bug."""
