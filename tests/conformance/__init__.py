"""What every store, and the engine on it, must do: plain functions that run anywhere.

`suite.CASES` holds them by name. `test_sqlite.py` runs them on the standard library's sqlite3; the tests on real
workerd run the same ones inside a Durable Object, each on fresh storage.
"""
