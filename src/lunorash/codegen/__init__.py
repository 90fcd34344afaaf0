"""`lunora codegen`: typed references and a registry, made from the syntax of an app's functions."""

from lunorash.codegen.diagnostics import Diagnostic
from lunorash.codegen.generation import FileChange, Generation, generate
from lunorash.codegen.instances import AppInstance
from lunorash.codegen.queues import AppQueue

__all__ = ["AppInstance", "AppQueue", "Diagnostic", "FileChange", "Generation", "generate"]
