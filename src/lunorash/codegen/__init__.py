"""`lunora codegen`: typed references and a registry, made from the syntax of an app's functions."""

from lunorash.codegen.diagnostics import Diagnostic
from lunorash.codegen.generation import FileChange, Generation, generate

__all__ = ["Diagnostic", "FileChange", "Generation", "generate"]
