"""Durable deferred jobs, crons and bounded-concurrency pools for Python on Cloudflare Workers."""
