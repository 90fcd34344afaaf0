"""The functions of the benchmark's Worker."""
