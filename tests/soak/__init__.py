"""Hours in minutes, on real workerd: failures, hangs, cancels and `kill -9`, and then every job is accounted for.

::

    python -m tests.soak --seconds 300
"""
