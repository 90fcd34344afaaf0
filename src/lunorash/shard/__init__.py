"""Shards: application data, and the mutations on it."""
