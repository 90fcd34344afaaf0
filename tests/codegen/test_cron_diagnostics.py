"""What is wrong with a cron job: a code, a line, words that help, and nothing written."""

from __future__ import annotations

from typing import Final

import pytest

from lunorash.codegen import generate
from tests.codegen.cron_app import APP, HEAD, crons_module
from tests.codegen.project import Project

GOOD: Final = 'crons.interval("sweep", {"minutes": 5}, internal.presence.sweep, {"room_id": "lobby"})\n'
TEN_PM: Final = '{"hour_utc": 22, "minute_utc": 0}'


def daily(target: str = "internal.presence.sweep", name: str = '"a"', rest: str = "") -> str:
    return f"crons.daily({name}, {TEN_PM}, {target}{rest})"


def cron(expression: str) -> str:
    return f'crons.cron("a", {expression}, internal.presence.sweep)'


READING: Final = {
    "a name that is a variable": ("N = 'a'\n" + daily(name="N"), "CRON_NAME_NOT_STATIC", 10, "the name N"),
    "a name that is an f-string": (daily(name="f'a{1}'"), "CRON_NAME_NOT_STATIC", 9, "an f-string"),
    "a name that is computed": (daily(name="'a' + 'b'"), "CRON_NAME_NOT_STATIC", 9, "an expression"),
    "no name": ("crons.cron(expression='* * * * *', target='presence:sweep')", "CRON_NAME_NOT_STATIC", 9, "no name"),
    "a blank name": (daily(name="' '"), "CRON_NAME_INVALID", 9, "must not be blank"),
    "a name of no letters": (daily(name="5"), "CRON_NAME_INVALID", 9, "is 5"),
    "a name with a line end": (daily(name="'a\\n'"), "CRON_NAME_INVALID", 9, "printable"),
    "a schedule that is a variable": (
        "S = {}\ncrons.daily('a', S, internal.presence.sweep)",
        "CRON_SCHEDULE_NOT_STATIC",
        10,
        "the name S",
    ),
    "a schedule that is called": (
        "crons.hourly('a', dict(minute_utc=1), internal.presence.sweep)",
        "CRON_SCHEDULE_NOT_STATIC",
        9,
        "a call of dict",
    ),
    "no schedule": ("crons.hourly('a', target='presence:sweep')", "CRON_SCHEDULE_NOT_STATIC", 9, "no schedule"),
    "a schedule with a variable in it": (
        "M = 1\ncrons.hourly('a', {\n    'minute_utc': M}, internal.presence.sweep)",
        "CRON_NON_STATIC_VALUE",
        11,
        "the name M",
    ),
    "a schedule that is unpacked": (
        "crons.hourly('a', {**{'minute_utc': 1}}, internal.presence.sweep)",
        "CRON_NON_STATIC_VALUE",
        9,
        "unpacked",
    ),
    "a schedule out of range": (
        "crons.daily(\n    'a',\n    {'hour_utc': 25, 'minute_utc': 0},\n    internal.presence.sweep)",
        "CRON_SCHEDULE_INVALID",
        11,
        "'a': daily.hour_utc is 25",
    ),
    "a schedule of seconds": (
        "crons.interval('a', {'seconds': 5}, internal.presence.sweep)",
        "CRON_SCHEDULE_INVALID",
        9,
        "run_after",
    ),
    "a schedule that drifts": (
        "crons.interval('a', {'minutes': 45}, internal.presence.sweep)",
        "CRON_SCHEDULE_INVALID",
        9,
        "drift",
    ),
    "an expression as a schedule": (
        "crons.daily('a', '* * * * *', internal.presence.sweep)",
        "CRON_SCHEDULE_INVALID",
        9,
        "goes to cron()",
    ),
    "an expression that is a variable": ("E = ''\n" + cron("E"), "CRON_EXPR_NOT_STATIC", 10, "the name E"),
    "an expression that is formatted": (cron("f'{1} * * * *'"), "CRON_EXPR_NOT_STATIC", 9, "an f-string"),
    "no expression": ("crons.cron('a', target='presence:sweep')", "CRON_EXPR_NOT_STATIC", 9, "no expression"),
    "prose for an expression": (cron("'every day'"), "CRON_EXPR_INVALID", 9, "'every day'"),
    "Sunday as zero": (cron("'0 0 * * 0'"), "CRON_EXPR_INVALID", 9, "SUN"),
    "two restricted days": (cron("'0 16 */2 * SAT'"), "CRON_DAYS_AMBIGUOUS", 9, "two jobs"),
    "an expression that never fires": (cron("'0 0 31 2 *'"), "CRON_NEVER_FIRES", 9, "never fires"),
    "a dict for an expression": (cron("{'minutes': 5}"), "CRON_EXPR_INVALID", 9, "is a string"),
    "a function itself": (
        "from lunora.presence import sweep\n" + daily("sweep"),
        "CRON_NON_STATIC_FN",
        10,
        "internal.presence.sweep",
    ),
    "a lambda": (daily("lambda: 1"), "CRON_NON_STATIC_FN", 9, "an expression"),
    "a target that is looked up": (
        daily("getattr(internal.presence, 'sweep')"),
        "CRON_NON_STATIC_FN",
        9,
        "a call of getattr",
    ),
    "a name that is nothing": (daily("sweep"), "CRON_NON_STATIC_FN", 9, "the name sweep"),
    "a target that is rebound": ("internal = api\n" + daily(), "CRON_NON_STATIC_FN", 10, "internal.presence.sweep"),
    "no target": (f"crons.daily('a', {TEN_PM})", "CRON_NON_STATIC_FN", 9, "no target"),
    "a function that is not there": (
        daily("internal.presence.sweeep"),
        "CRON_TARGET_UNKNOWN",
        9,
        "there is no internal.presence.sweeep; did you mean internal.presence.sweep?",
    ),
    "two segments joined": (daily("internal.deep_er.jobs.run"), "CRON_TARGET_UNKNOWN", 9, "internal.deep.er.jobs.run"),
    "a module that is not there": (
        daily("internal.billing.charge"),
        "CRON_TARGET_UNKNOWN",
        9,
        "define it in lunora/billing.py",
    ),
    "a module for a function": (daily("internal.presence"), "CRON_TARGET_UNKNOWN", 9, "there is no internal.presence;"),
    "a function without a decorator": (daily("internal.presence.bare"), "CRON_TARGET_UNKNOWN", 9, "has no decorator"),
    "a path that is not there": (daily("'presence:weep'"), "CRON_TARGET_UNKNOWN", 9, "internal.presence.sweep?"),
    "an unknown workflow": (daily("workflows.onbording"), "CRON_TARGET_UNKNOWN", 9, "workflows.onboarding?"),
    "an unknown agent": (daily("agents.zzz"), "CRON_TARGET_UNKNOWN", 9, "lunora/agents.py"),
    "a public function": (daily("api.presence.here"), "CRON_TARGET_INVALID", 9, "calls it for nobody"),
    "a public function by its path": (daily("'presence:here'"), "CRON_TARGET_INVALID", 9, "which is public"),
    "a public function among internal ones": (daily("internal.presence.here"), "CRON_TARGET_INVALID", 9, "is public"),
    "an internal function among public ones": (
        daily("api.presence.sweep"),
        "CRON_TARGET_UNKNOWN",
        9,
        "write internal.presence.sweep",
    ),
    "no path": (daily("'presence.sweep'"), "CRON_TARGET_INVALID", 9, "not a function path"),
    "a number for a target": (daily("5"), "CRON_TARGET_INVALID", 9, "the target 5"),
    "args that are a variable": ("A = {}\n" + daily(rest=", A"), "CRON_NON_STATIC_VALUE", 10, "the name A"),
    "args that are called": (daily(rest=", dict(n=1)"), "CRON_NON_STATIC_VALUE", 9, "a call of dict"),
    "args that are unpacked": (daily(rest=", {**{}}"), "CRON_NON_STATIC_VALUE", 9, "unpacked"),
    "args with a name in them": (daily(rest=", {'n': [internal]}"), "CRON_NON_STATIC_VALUE", 9, "the name internal"),
    "args with an f-string": (daily(rest=", {'n': f'{1}'}"), "CRON_NON_STATIC_VALUE", 9, "an f-string"),
    "args with a sum": (daily(rest=", {'n': 1 + 1}"), "CRON_NON_STATIC_VALUE", 9, "an expression"),
    "args with a set": (daily(rest=", {'n': {1}}"), "CRON_NON_STATIC_VALUE", 9, "a set"),
    "args with a computed key": (daily(rest=", {'n' + '': 1}"), "CRON_NON_STATIC_VALUE", 9, "a key that is"),
    "args with an unpacked list": (daily(rest=", {'n': [*[]]}"), "CRON_NON_STATIC_VALUE", 9, "a list that is unpacked"),
    "deep args": (daily(rest=", " + "[" * 150 + "]" * 150), "CRON_NON_STATIC_VALUE", 9, "nested"),
    "a tuple": (daily(rest=", {'n': (1,)}"), "INVALID_INPUT", 9, "tuple"),
    "a list for args": (daily(rest=", [1]"), "INVALID_INPUT", 9, "of type list"),
    "keys of numbers": (daily(rest=", {1: 1}"), "INVALID_INPUT", 9, "keys are strings"),
    "a float that is none": (daily(rest=", {'n': 1e999}"), "INVALID_INPUT", 9, "is inf"),
    "args that are large": (daily(rest=f", {{'n': '{'x' * 1_000_001}'}}"), "PAYLOAD_TOO_LARGE", 9, "1,000,000"),
    "an argument too many": (daily(rest=", {'room': 1}"), "CRON_ARGS_INVALID", 9, "have 'room'"),
    "an argument of a function without": (
        daily("internal.deep.er.jobs.run", rest=", {'n': 1}"),
        "CRON_ARGS_INVALID",
        9,
        "takes no arguments",
    ),
    "an argument missing": (daily("internal.presence.forget"), "CRON_ARGS_INVALID", 9, "lack 'room_id'"),
    "an unknown option": (daily(rest=", overlp='skip'"), "CRON_OPTION_INVALID", 9, "no option 'overlp'"),
    "an overlap that is not there": (daily(rest=", overlap='queue'"), "CRON_OPTION_INVALID", 9, '"skip"'),
    "an option that is a variable": ("T = 1\n" + daily(rest=", timeout=T"), "CRON_OPTION_NOT_STATIC", 10, "the name T"),
    "an option that is called": (daily(rest=", timeout=max(1)"), "CRON_OPTION_NOT_STATIC", 9, "a call of max"),
    "another timedelta": (
        "from other import timedelta\n" + daily(rest=", timeout=timedelta(minutes=1)"),
        "CRON_OPTION_NOT_STATIC",
        10,
        "a call of timedelta",
    ),
    "a quotient": (daily(rest=", timeout=4 / 2"), "CRON_OPTION_NOT_STATIC", 9, "other than a sum"),
    "a power": (daily(rest=", timeout=9 ** 9 ** 9"), "CRON_OPTION_NOT_STATIC", 9, "other than a sum"),
    "a huge product": (daily(rest=", timeout=" + "*".join(["9" * 19] * 5)), "CRON_OPTION_NOT_STATIC", 9, "bits"),
    "a product of text": (daily(rest=", timeout='a' * 5"), "CRON_OPTION_NOT_STATIC", 9, "no number"),
    "a timeout that is long": (daily(rest=", timeout=timedelta(hours=1)"), "CRON_OPTION_INVALID", 9, "15 minutes"),
    "a timeout that is text": (daily(rest=", timeout='1s'"), "CRON_OPTION_INVALID", 9, "of type str"),
    "a timedelta of what is not there": (daily(rest=", timeout=timedelta(ms=1)"), "CRON_OPTION_INVALID", 9, "ms"),
    "a timedelta that is endless": (daily(rest=", timeout=timedelta(days=1e999)"), "CRON_OPTION_INVALID", 9, "timeout"),
    "a timedelta that is unpacked": (
        daily(rest=", timeout=timedelta(**{})"),
        "CRON_OPTION_NOT_STATIC",
        9,
        "unpacked",
    ),
    "a policy that is refused": (
        daily(rest=", retry=RetryPolicy(base_ms=0)"),
        "CRON_OPTION_INVALID",
        9,
        "base_ms is 0",
    ),
    "a policy without such a field": (daily(rest=", retry=RetryPolicy(times=3)"), "CRON_OPTION_INVALID", 9, "times"),
    "a number for a policy": (daily(rest=", retry=3"), "CRON_OPTION_INVALID", 9, "RetryPolicy"),
    "a fifth argument": (daily(rest=", {}, 'skip'"), "CRON_OPTION_INVALID", 9, "by name"),
    "twice the same": (daily(rest=", target='a:b'"), "CRON_OPTION_INVALID", 9, "given twice"),
    "arguments unpacked": (
        "A = ()\ncrons.daily('a', *A, target='presence:sweep')",
        "CRON_NON_STATIC_VALUE",
        10,
        "unpacked",
    ),
    "options unpacked": ("A = {}\n" + daily(rest=", **A"), "CRON_NON_STATIC_VALUE", 10, "unpacked"),
    "a name that is taken": (GOOD + GOOD, "DUPLICATE_CRON_NAME", 10, "in lunora/crons.py:9 too"),
}

HIDDEN: Final = {
    "in a function": (f"def f():\n    {daily()}", "CRON_NOT_STATIC", 10, "declared inside the function f"),
    "in an async function": (f"async def f():\n    {daily()}", "CRON_NOT_STATIC", 10, "inside the function f"),
    "in a class": (f"class C:\n    {daily()}", "CRON_NOT_STATIC", 10, "inside the class C"),
    "in a loop": (f"for i in range(3):\n    {daily()}", "CRON_NOT_STATIC", 10, "inside a loop"),
    "in a while": (f"while False:\n    {daily()}", "CRON_NOT_STATIC", 10, "inside a loop"),
    "in a condition": (f"if True:\n    {daily()}", "CRON_NOT_STATIC", 10, "inside a condition"),
    "in an else": (f"if True:\n    pass\nelse:\n    {daily()}", "CRON_NOT_STATIC", 12, "inside a condition"),
    "in a match": (f"match 1:\n    case 1:\n        {daily()}", "CRON_NOT_STATIC", 11, "inside a condition"),
    "in a try": (f"try:\n    {daily()}\nfinally:\n    pass", "CRON_NOT_STATIC", 10, "inside a try"),
    "in a with": (f"with open('a'):\n    {daily()}", "CRON_NOT_STATIC", 10, "inside a with"),
    "in a comprehension": (f"[{daily()} for _ in ()]", "CRON_NOT_STATIC", 9, "inside a comprehension"),
    "in a lambda": (f"f = lambda: {daily()}", "CRON_NOT_STATIC", 9, "inside a lambda"),
    "in an expression": (f"{daily()} if 1 else 2", "CRON_NOT_STATIC", 9, "inside a condition"),
    "in an and": (f"1 and {daily()}", "CRON_NOT_STATIC", 9, "inside a condition"),
    "as an argument": (f"print({daily()})", "CRON_NOT_STATIC", 9, "as part of a larger expression"),
    "read at once": (f"x = {daily()}.jobs()", "CRON_NOT_STATIC", 9, "as part of a larger expression"),
    "a builder handed on": ("print(crons)", "CRON_NOT_STATIC", 9, "crons is used as a value"),
    "a builder in a list": ("all = [crons]", "CRON_NOT_STATIC", 9, "crons is used as a value"),
    "a builder returned": ("def f():\n    return crons", "CRON_NOT_STATIC", 10, "inside the function f"),
    "a method as a value": ("f = crons.daily", "CRON_NOT_STATIC", 9, "used as a value"),
    "a builder unpacked": ("a, b = cron_jobs(), 1", "CRON_NOT_STATIC", 9, "cron_jobs() is called as a value"),
    "a builder of an object": ("print.x = cron_jobs()", "CRON_NOT_STATIC", 9, "cron_jobs() is called as a value"),
    "a builder made in a function": ("def f():\n    cron_jobs()", "CRON_NOT_STATIC", 10, "inside the function f"),
    "a builder made by an alias": ("make = cron_jobs", "CRON_NOT_STATIC", 9, "cron_jobs is used as a value"),
    "a builder made by a walrus": ("(c := cron_jobs())", "CRON_NOT_STATIC", 9, "called as a value"),
    "a class of one's own": (
        "from lunorash.server import CronJobs\nclass C(CronJobs): ...",
        "CRON_NOT_STATIC",
        10,
        "CronJobs is used",
    ),
    "another name of the class": (
        "from lunorash.server import CronJobs\nC = CronJobs",
        "CRON_NOT_STATIC",
        10,
        "CronJobs is used as a value",
    ),
    "imported in a function": (
        "def f():\n    from lunorash.server import cron_jobs as c\n    c()",
        "CRON_NOT_STATIC",
        10,
        "at the top level",
    ),
    "bound again": ("crons = None", "CRON_BUILDER_REBOUND", 9, "crons stands for cron jobs in line 8"),
    "bound again by a loop": ("for crons in (): ...", "CRON_BUILDER_REBOUND", 9, "rename one"),
    "the function bound again": ("def cron_jobs(): ...", "CRON_BUILDER_REBOUND", 9, "in line 7"),
    "no such method": (f"crons.dayly('a', {TEN_PM}, 'presence:sweep')", "CRON_METHOD_UNKNOWN", 9, "mean daily?"),
    "nothing like it": ("crons.x", "CRON_METHOD_UNKNOWN", 9, "there is cron, daily"),
    "a star import": ("from lunorash.crons import *", "STAR_IMPORT", 9, "by name"),
}
CASES: Final = READING | HIDDEN


@pytest.mark.parametrize(("text", "code", "line", "words"), CASES.values(), ids=CASES.keys())
def test_a_mistake_is_named_with_its_line_and_the_way_out(
    text: str, code: str, line: int, words: str, project: Project
) -> None:
    project.write(crons_module(text))
    generation = generate(project.folder)
    assert [(each.code, each.file, each.line) for each in generation.diagnostics] == [(code, "lunora/crons.py", line)]
    (diagnostic,) = generation.diagnostics
    assert words in diagnostic.message
    assert len(diagnostic.message) < 500
    assert generation.changes == ()


@pytest.mark.parametrize("text", [GOOD, daily(), cron("'* * * * *'"), daily(rest=", {}, overlap='skip', timeout=1")])
def test_the_same_job_put_right_is_accepted(text: str, project: Project) -> None:
    assert len(project.write(crons_module(text)).generate().crons) == 1


FOREIGN: Final = {
    "from elsewhere": ("from other.place import cron_jobs\n", "crons = cron_jobs()\n", "other.place.cron_jobs"),
    "by another name": ("from other import cron_jobs as c\n", "crons = c()\n", "other.cron_jobs"),
    "of a module": ("import other\n", "crons = other.cron_jobs()\n", "other.cron_jobs"),
    "not imported": ("# none\n", "crons = cron_jobs()\n", "cron_jobs, which the module does not import"),
    "through a star": ("from other import *\n", "crons = cron_jobs()\n", "cron_jobs, which the module does not import"),
    "of the app": ("from lunora.presence import cron_jobs\n", "crons = cron_jobs()\n", "lunora.presence.cron_jobs"),
}


@pytest.mark.parametrize(("imported", "made", "words"), FOREIGN.values(), ids=FOREIGN.keys())
def test_jobs_on_a_builder_that_is_not_ours_are_not_dropped_in_silence(
    imported: str, made: str, words: str, project: Project
) -> None:
    project.write({"crons.py": imported + made + "\ncrons.daily(\n'a', {}, None)\n"})
    (diagnostic,) = generate(project.folder).diagnostics
    assert (diagnostic.code, diagnostic.line) == ("CRON_BUILDER_UNKNOWN", 4)
    assert words in diagnostic.message
    assert "from lunorash.server import cron_jobs" in diagnostic.message
    project.write({"crons.py": imported + made.replace("crons = ", "") + "\n"})
    assert project.problems() == []


def test_a_job_right_on_a_foreign_builder(project: Project) -> None:
    project.write({"crons.py": "from other import cron_jobs\ncron_jobs('x').daily('a', {}, None)\n"})
    assert project.problems() == [("CRON_BUILDER_UNKNOWN", "crons.py", 2)]


def test_all_mistakes_of_a_job_are_reported_in_one_run(project: Project) -> None:
    text = "crons.hourly(\nNAME,\nSCHEDULE,\nlambda: 1,\nARGS,\noverlap=OVERLAP,\ntimeout=TIMEOUT)\n"
    project.write(crons_module(text))
    assert project.problems() == [
        ("CRON_NAME_NOT_STATIC", "crons.py", 10),
        ("CRON_SCHEDULE_NOT_STATIC", "crons.py", 11),
        ("CRON_NON_STATIC_FN", "crons.py", 12),
        ("CRON_NON_STATIC_VALUE", "crons.py", 13),
        ("CRON_OPTION_NOT_STATIC", "crons.py", 14),
        ("CRON_OPTION_NOT_STATIC", "crons.py", 15),
    ]


def test_lines_in_a_chain_are_those_of_its_calls(project: Project) -> None:
    text = "(\n    crons\n    .hourly('a', {'minute_utc': 1}, 'presence:sweep')\n"
    text += "    .hourly('b', {'minute_utc': 60}, 'presence:sweep')\n    .hourly()\n)\n"
    project.write(crons_module(text))
    assert project.problems() == [
        ("CRON_SCHEDULE_INVALID", "crons.py", 12),
        ("CRON_NAME_NOT_STATIC", "crons.py", 13),
        ("CRON_NON_STATIC_FN", "crons.py", 13),
        ("CRON_SCHEDULE_NOT_STATIC", "crons.py", 13),
    ]


def test_a_name_is_used_once_in_all_modules(project: Project) -> None:
    other = "from lunorash.server import cron_jobs\nmine = cron_jobs()\n"
    other += "mine.hourly('sweep', {'minute_utc': 1}, 'presence:sweep')\n"
    project.write({**crons_module(GOOD), "a/more.py": other})
    (diagnostic,) = generate(project.folder).diagnostics
    assert (diagnostic.code, diagnostic.file, diagnostic.line) == ("DUPLICATE_CRON_NAME", "lunora/crons.py", 9)
    assert "'sweep' in lunora/a/more.py:3" in diagnostic.message


def test_what_is_wrong_with_a_function_is_not_said_twice(project: Project) -> None:
    project.write({**crons_module(daily()), "presence.py": "def sweep(:\n"})
    assert project.problems() == [("MODULE_SYNTAX_ERROR", "presence.py", 1)]
    broken = "from lunora._generated.server import internal_mutation\n@internal_mutation\ndef sweep(ctx, a): ...\n"
    project.write({"presence.py": broken})
    assert project.problems() == [("ARGUMENT_NOT_ANNOTATED", "presence.py", 3)]


def test_a_mistake_in_the_module_of_crons_hides_no_other_there(project: Project) -> None:
    project.write(crons_module(f"{daily(name='5')}\n{daily('internal.crons.run')}\n"))
    assert project.problems() == [("CRON_NAME_INVALID", "crons.py", 9), ("CRON_TARGET_UNKNOWN", "crons.py", 10)]


def test_another_function_of_the_name_may_be_used_for_anything(project: Project) -> None:
    text = "from other import cron_jobs\njobs = cron_jobs()\njobs = sorted(jobs)\nprint(jobs, cron_jobs)\n"
    project.write({"m.py": text, "n.py": "from .m import *\ndef f():\n    from .m import jobs\n"})
    assert project.problems() == []


def test_a_star_import_that_hides_a_builder(project: Project) -> None:
    project.write({**crons_module(GOOD), "more.py": "from lunora.crons import *\ncrons.daily()\n"})
    assert project.problems() == [("STAR_IMPORT", "more.py", 1)]


def test_a_builder_of_another_module_is_watched_as_its_own(project: Project) -> None:
    more = "from lunora.crons import crons as theirs\ndef f():\n    theirs.hourly()\ntheirs = None\n"
    project.write({**crons_module(GOOD), "more.py": more, "lazy.py": "def f():\n    from .crons import crons\n"})
    assert project.problems() == [("CRON_NOT_STATIC", "lazy.py", 2), ("CRON_BUILDER_REBOUND", "more.py", 4)]


@pytest.mark.parametrize(
    "expression",
    [
        "crons" + ".x" * 3_000,
        "crons" + ".x" * 900 + ".cron_jobs",
        "internal." + "x" * 99_999,
        "-" * 3_000 + "1",
        "+".join(["1"] * 3_000),
        "f" + "()" * 3_000,
    ],
)
def test_a_deep_expression_is_refused_and_never_breaks_the_generator(expression: str, project: Project) -> None:
    project.write(crons_module(f"crons.daily({', '.join([expression] * 4)}, timeout={expression})"))
    assert project.problems()


def test_a_chain_may_be_long(project: Project) -> None:
    jobs = "".join(f"\n.hourly('{number}', {{'minute_utc': 1}}, 'presence:sweep')" for number in range(500))
    project.write(crons_module(f"(crons{jobs})"))
    assert len(project.generate().crons) == 500


def test_the_app_without_crons_is_right(project: Project) -> None:
    assert project.write({**APP, "crons.py": HEAD}).generate().crons == ()
