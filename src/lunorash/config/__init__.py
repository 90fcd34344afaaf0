"""The project's wrangler configuration, kept in step with the app."""
