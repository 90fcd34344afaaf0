"""The functions of the app. `lunora codegen` reads them and writes `_generated/`."""
