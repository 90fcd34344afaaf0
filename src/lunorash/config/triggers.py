"""``triggers.crons``: the expressions that we add for the app first, then what somebody wrote there by hand."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from lunorash.config.json_text import Edit, Insert, Remove
from lunorash.config.scopes import Scope
from lunorash.crons import CronExpression
from lunorash.errors import LunoraError

__all__ = ["Crons", "crons_key", "list_edits", "same_meaning", "wanted_crons"]


@dataclass(frozen=True, slots=True)
class Crons:
    """The list of one scope.

    Args:
        current: as it is.
        generated: what the app needs, except what somebody had written there before.
        by_hand: what was not written by us: it stays, also if the app needs it for a while.
    """

    current: tuple[str, ...]
    generated: tuple[str, ...]
    by_hand: tuple[str, ...]


def crons_key(scope: Scope) -> str:
    """The name of a scope's list in the record."""
    return ".".join((*scope.path, "triggers", "crons"))


def wanted_crons(scope: Scope, generated: Sequence[str], recorded: Sequence[str] | None) -> Crons | None:
    """What a scope's list should be.

    Args:
        scope: the scope.
        generated: the expressions of the app, in their order, each once.
        recorded: what of the list is ours; None when that is not known.

    Returns:
        the list; None when it is to be left alone: an environment without triggers of its own inherits those of the
        top level, and one with a list that somebody left empty has no crons on purpose.
    """
    triggers = scope.section.triggers
    current = triggers.crons if triggers else None
    if scope.environment is not None and (triggers is None or (current == [] and recorded is None)):
        return None
    by_hand = tuple(expression for expression in current or () if expression not in (recorded or ()))
    return Crons(tuple(current or ()), tuple(each for each in generated if each not in by_hand), by_hand)


def list_edits(path: tuple[str, ...], crons: Crons) -> list[Edit]:
    """How a list becomes what it should be. What was written by hand is never moved, ours is moved around it.

    Args:
        path: where the list is.
        crons: the list.

    Example:
        >>> list_edits(("triggers", "crons"), Crons(("gone", "mine"), ("new",), ("mine",)))
        [Remove(path=('triggers', 'crons'), index=0), Insert(path=('triggers', 'crons'), key=0, value='new')]
    """
    by_hand = set(crons.by_hand)
    first = next((index for index, each in enumerate(crons.current) if each in by_hand), len(crons.current))
    matcher = SequenceMatcher(None, crons.current[:first], crons.generated, autojunk=False)
    kept = {
        block.a + offset: block.b + offset for block in matcher.get_matching_blocks() for offset in range(block.size)
    }
    edits: list[Edit] = [
        Remove(path, index)
        for index, expression in reversed(list(enumerate(crons.current)))
        if index not in kept and expression not in by_hand
    ]
    stays = set(kept.values())
    edits += [Insert(path, index, each) for index, each in enumerate(crons.generated) if index not in stays]
    return edits


def same_meaning(by_hand: str, generated: Iterable[str]) -> str | None:
    """Which expression of the app fires at the same times as one that is written differently, if any does.

    Args:
        by_hand: the expression that was written by hand.
        generated: those of the app.

    Example:
        >>> same_meaning("0 8 * * 2", ["*/5 * * * *", "0 8 * * MON"])
        '0 8 * * MON'
    """
    parsed = _parsed(by_hand)
    return next((each for each in generated if parsed is not None and parsed == _parsed(each)), None)


def _parsed(expression: str) -> CronExpression | None:
    try:
        return CronExpression.parse(expression)
    except LunoraError:  # what Cloudflare refuses, it refuses at the deployment
        return None
