from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta, timezone
from itertools import islice
from typing import Any

import pytest

from lunorash.crons.expression import CronExpression
from lunorash.errors import LunoraError


def _fires(text: str, begin: str, count: int) -> list[str]:
    fires = CronExpression.parse(text).fires_after(datetime.fromisoformat(begin).replace(tzinfo=UTC))
    return [f"{fire:%Y-%m-%dT%H:%M}" for fire in islice(fires, count)]


# -- the cases others reported ---------------------------------------------------------------------------------


def test_sunday_as_zero_is_refused_with_its_name() -> None:
    """Cloudflare refuses it at deploy (cloudflare/workers-sdk#8674)."""
    with pytest.raises(LunoraError, match=r"the day of week field is '0': 0 is not a weekday.* SUN$") as refused:
        CronExpression.parse("0 0 * * 0")
    assert refused.value.code == "CRON_EXPR_INVALID"


def test_monday_to_friday_in_digits_is_sunday_to_thursday() -> None:
    """cloudflare/saffron#19"""
    digits = CronExpression.parse("10 7 * * 1-5")
    assert digits.normalized == "10 7 * * SUN-THU"
    assert "reads SUN-THU. Write SUN-THU if you mean that, or MON-FRI if you mean what Unix reads" in digits.notices[0]
    assert _fires("10 7 * * 1-5", "2026-01-01T08:00", 1) == ["2026-01-04T07:10"]
    assert _fires("10 7 * * MON-FRI", "2026-01-01T08:00", 1) == ["2026-01-02T07:10"]
    assert CronExpression.parse("10 7 * * MON-FRI").notices == ()


_WEEK = ["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"]


@pytest.mark.parametrize(("digit", "name", "day"), [(n, name, 3 + n) for n, name in enumerate(_WEEK, start=1)])
def test_weekdays_count_from_one_for_sunday(digit: int, name: str, day: int) -> None:
    for text in (str(digit), name, name.lower()):
        expression = CronExpression.parse(f"0 8 * * {text}")
        assert expression.normalized == f"0 8 * * {name}"
        # 2026-01-04 was a Sunday
        assert _fires(expression.text, "2026-01-03T12:00", 1) == [f"2026-01-{day:02}T08:00"]
    assert bool(CronExpression.parse(f"0 8 * * {digit}").notices)


def test_seven_is_saturday() -> None:
    """For Unix it is Sunday (garethgeorge/backrest#1104)."""
    assert _fires("0 0 * * 7", "2026-01-01T00:00", 2) == ["2026-01-03T00:00", "2026-01-10T00:00"]


@pytest.mark.parametrize(
    ("text", "both", "one", "other"),
    [
        ("0 16 */2 * SAT", ("*/2", "SAT"), "0 16 */2 * *", "0 16 * * SAT"),  # pallets-eco/croniter#40
        ("0 4 1 * MON-FRI", ("1", "MON-FRI"), "0 4 1 * *", "0 4 * * MON-FRI"),  # harrisiirak/cron-parser#173
        ("0 4 1 * 1-5", ("1", "1-5, on Cloudflare SUN-THU"), "0 4 1 * *", "0 4 * * SUN-THU"),
        ("0 4 1-31 * MON", ("1-31", "MON"), "0 4 * * *", "0 4 * * MON"),
        ("0 4 */1 * MON", ("*/1", "MON"), "0 4 * * *", "0 4 * * MON"),
        ("0 4 15 * SUN-SAT", ("15", "SUN-SAT"), "0 4 15 * *", "0 4 * * *"),
        ("0 4 LW * FRIL", ("LW", "FRIL"), "0 4 LW * *", "0 4 * * FRIL"),
    ],
)
def test_two_restricted_day_fields_are_refused_with_two_jobs_to_write(
    text: str, both: tuple[str, str], one: str, other: str
) -> None:
    with pytest.raises(LunoraError) as refused:
        CronExpression.parse(text)
    assert refused.value.code == "CRON_DAYS_AMBIGUOUS"
    assert f"the day of month ({both[0]}) and the day of week ({both[1]})" in refused.value.message
    assert f'two jobs, "{one}" and "{other}"' in refused.value.message


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("0 4 1 * 1-5", "(1-5, on Cloudflare SUN-THU)"),
        ("0 4 1 * 2#1", "(2#1, on Cloudflare MON#1)"),
        ("0 4 1 * MON", "(MON)"),
    ],
)
def test_digits_beside_a_day_of_the_month_are_told_by_name(text: str, said: str) -> None:
    """Whoever takes one of the two jobs has to see which days it has."""
    with pytest.raises(LunoraError, match="CRON_DAYS_AMBIGUOUS") as refused:
        CronExpression.parse(text)
    assert said in refused.value.message


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("0 0 31 2 *", "such a day (31)"),  # pallets-eco/croniter#141
        ("0 0 30 2 *", "such a day (30)"),
        ("0 0 30,31 FEB *", "such a day (30,31)"),
        ("0 0 31 4,6 *", "such a day (31)"),
        ("0 0 31 4,6,9,11 *", "such a day (31)"),
        ("0 0 L-29 2 *", "such a day (L-29)"),
        ("0 0 L-30 2-2,4 *", "such a day (L-30)"),
        ("0 0 * * FRI#6", "no month has the same weekday 6 times (FRI#6)"),
        ("0 0 * * 6#9", "no month has the same weekday 9 times (FRI#9)"),
    ],
)
def test_what_never_fires_is_known_at_once(text: str, why: str) -> None:
    began = time.perf_counter()
    expression = CronExpression.parse(text)
    assert expression.never_fires
    assert expression.next_after(datetime(1, 1, 1, tzinfo=UTC)) is None
    assert expression.previous_before(datetime.max.replace(tzinfo=UTC)) is None
    with pytest.raises(LunoraError) as refused:
        expression.that_fires()
    assert refused.value.code == "CRON_NEVER_FIRES"
    assert why in refused.value.message
    assert time.perf_counter() - began < 0.5


# -- refusals --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("*/0 * * * *", "the minute field is '*/0': the step '0' is refused"),  # pallets-eco/croniter#232
        ("5-5/0 * * * *", "the minute field is '5-5/0': the step '0' is refused"),
        ("0 */0 * * *", "the hour field is '*/0': the step '0' is refused"),
        ("*/60 * * * *", "the step '60' is refused; Cloudflare takes steps of 59 at most in this field"),
        ("0 */24 * * *", "steps of 23 at most"),
        ("0 0 */31 * *", "steps of 30 at most"),
        ("0 0 1 */12 *", "steps of 11 at most"),
        ("0 0 * * */7", "steps of 6 at most"),
        ("5/ * * * *", "the step '' is refused"),
        ("5/x * * * *", "the step 'x' is refused"),
        ("1/2/3 * * * *", "the step '2/3' is refused"),
        ("60 * * * *", "the minute field is '60': '60' is not a value; values are 0 to 59"),
        ("0 24 * * *", "the hour field is '24': '24' is not a value; values are 0 to 23"),
        ("0 0 0 * *", "the day of month field is '0': '0' is not a value; values are 1 to 31, and by itself"),
        ("0 0 32 * *", "values are 1 to 31"),
        ("0 0 1 0 *", "the month field is '0': '0' is not a value; values are 1 to 12 or JAN to DEC"),
        ("0 0 1 13 *", "values are 1 to 12"),
        ("0 0 * * 8", "the day of week field is '8': '8' is not a value; values are 1 to 7 or SUN to SAT"),
        ("007 * * * *", "'007' is not a value"),
        ("99999999999999999999 * * * *", "is not a value; values are 0 to 59"),
        ("1,,2 * * * *", "the minute field is '1,,2': a part of the list is empty"),
        (", * * * *", "a part of the list is empty"),
        ("1, * * * *", "a part of the list is empty"),
        ("-5 * * * *", "a value is missing"),
        ("5- * * * *", "a value is missing"),
        ("1-2-3 * * * *", "'2-3' is not a value"),
        ("*-5 * * * *", "'*' is not a value"),
        ("5,* * * * *", "* takes every value already, so it stands alone"),
        ("** * * * *", "'**' is not a value"),
        ("1.5 * * * *", "'1.5' is not a value"),
        ("+5 * * * *", "'+5' is not a value"),
        ("H * * * *", "'H' is not a value"),
        ("0 MON * * *", "the hour field is 'MON': 'MON' is not a value; values are 0 to 23"),
        ("0 0 ? * *", "the day of month field is '?': Cloudflare does not document ?; write *"),
        ("0 0 * * ?", "the day of week field is '?': Cloudflare does not document ?; write *"),
        ("0 0 * * 0-4", "write names, SUN for 0: SUN-THU"),
        ("0 0 * * 0-7", "write names, SUN for 0: SUN-SAT"),
        ("0 0 * * 0-7/2", "write names, SUN for 0: SUN-SAT/2"),
        ("0 0 * * 0,6", "write names, SUN for 0: SUN,SAT"),
        ("0 0 * * 5-0", "0 is not a weekday on Cloudflare"),
        ("0 0 * * 0L", "write names, SUN for 0: SUNL"),
        ("0 0 * * 0#2", "write names, SUN for 0: SUN#2"),
        ("0 0 * * 00", "write names, SUN for 0: SUN"),
        ("0 0 * * FRI-MON", "the range FRI-MON runs backwards"),
        ("0 0 * * FRI-MON", "write FRI-SAT,SUN-MON if it is to wrap around"),
        ("0 0 * * SAT-SUN", "write SAT,SUN if it is to wrap around"),
        ("0 0 * * 6-1", "write FRI-SAT,SUN if it is to wrap around"),
        ("50-10 * * * *", "write 50-59,0-10 if it is to wrap around"),
        ("0 22-2/2 * * *", "write 22-23,0-2 if it is to wrap around"),
        ("0 0 1 NOV-FEB *", "write 11-12,1-2 if it is to wrap around"),
        ("0 0 * * MONDAY", "'MONDAY' is not a value; write MON"),
        ("0 0 1 June *", "'June' is not a value; write JUN"),
        ("0 0 1,L * *", "the day of month field is '1,L': each of L, L-3, LW and 15W stands by itself"),
        ("0 0 15W,L * *", "stands by itself"),
        ("0 0 1-5W * *", "stands by itself"),
        ("0 0 L/2 * *", "stands by itself"),
        ("0 0 L-0 * *", "n is 1 to 30; for the last day itself write L"),
        ("0 0 L-31 * *", "n is 1 to 30"),
        ("0 0 L- * *", "n is 1 to 30"),
        ("0 0 L-3W * *", "Cloudflare does not document L-nW; write LW"),
        ("0 0 32W * *", "'32' is not a value"),
        ("0 0 0W * *", "'0' is not a value"),
        ("0 0 W * *", "'W' is not a value"),
        ("0 0 WL * *", "'WL' is not a value"),
        ("0 L * * *", "the hour field is 'L': 'L' is not a value"),
        ("0 0 1 L *", "the month field is 'L': 'L' is not a value"),
        ("0 0 FRI#2 * *", "the day of month field is 'FRI#2': 'FRI#2' is not a value"),
        ("0 0 * * LW", "'LW' is not a value"),
        ("0 0 * * 15W", "'15W' is not a value"),
        ("0 0 * * FRI#0", "after # comes which one of the month it is, 1 to 5"),
        ("0 0 * * FRI#", "after # comes which one"),
        ("0 0 * * #2", "a value is missing"),
        ("0 0 * * FRI#2#3", "after # comes which one"),
        ("0 0 * * FRI#2,MON", "each of FRIL and FRI#2 stands by itself"),
        ("0 0 * * MON-FRI#2", "stands by itself"),
        ("0 0 * * MONL,FRIL", "stands by itself"),
        ("0 0 * * MON-FRIL", "stands by itself"),
        # the shape of the whole
        ("", "it is empty"),
        ("   ", "it is empty"),
        ("* * * *", "it has 4 of five fields: minute, hour, day of month, month, day of week"),
        ("0 8 * *", "it has 4 of five fields"),
        ("* * * * * *", "it has six fields, and Cloudflare takes five: there are no seconds"),
        ("0 0 12 * * ? 2026", "it has 7 of five fields"),
        ("@daily", "Cloudflare does not document @daily; write 0 0 * * *"),
        ("@Weekly", "write 0 0 * * SUN"),
        ("@reboot", "Cloudflare does not document @reboot; write five fields"),
        ("@every 5m", "write five fields"),
        (" 0 8 * * MON", "take the spaces away at its beginning and end"),
        ("0 8 * * MON ", "take the spaces away at its beginning and end"),
        ("0 8 * * MON\n", "the day of week field holds the character U+000A"),
        ("0\n8 * * MON", "the minute field holds the character U+000A"),
        ("0\u00a08 * * MON", "the minute field holds the character U+00A0"),
        ("0 8\u3000* * MON", "the hour field holds the character U+3000"),
        ("0 8 * * MON\u200b", "the day of week field holds the character U+200B"),
        ("0 \u0663 * * *", "the hour field holds the character U+0663"),
        ("0 \uff18 * * *", "the hour field holds the character U+FF18"),
        ("0 8 1 \u017fep *", "the month field holds the character U+017F"),
        ("0 8 1\u2013 5 *", "the day of month field holds the character U+2013"),
        ("0 \ud800 * * *", "the hour field holds the character U+D800"),
        ("\x00 * * * *", "the minute field holds the character U+0000"),
        ("0 " * 200, "it has 400 characters; 256 are read"),
        (None, "it is of type NoneType; an expression is a string"),
        (5, "it is of type int"),
        (b"* * * * *", "it is of type bytes"),
        (["*"] * 5, "it is of type list"),
    ],
)
def test_a_refusal_names_the_field_and_the_reason(text: Any, reason: str) -> None:
    with pytest.raises(LunoraError) as refused:
        CronExpression.parse(text)
    assert refused.value.code == "CRON_EXPR_INVALID"
    assert reason in refused.value.message


# -- what is taken ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "normalized"),
    [
        ("* * * * *", "* * * * *"),
        ("*/1 0-23 1-31 1-12 1-7", None),
        ("*/1 */1 */1 1-12 *", "* * * * *"),
        ("0-59 * * * SUN-SAT", "* * * * *"),
        ("0,15,30,45 * * * *", "*/15 * * * *"),
        ("0/15 * * * *", "*/15 * * * *"),
        ("*/30 * * * *", "*/30 * * * *"),
        ("*/45 * * * *", "0,45 * * * *"),
        ("*/7 * * * *", "*/7 * * * *"),
        ("5/10 * * * *", "5-55/10 * * * *"),
        ("05 08 * * *", "5 8 * * *"),
        ("3,1,2,2 * * * *", "1-3 * * * *"),
        ("1,2,4 * * * *", "1,2,4 * * * *"),
        ("10-20/30 * * * *", "10 * * * *"),
        ("*/15,7 * * * *", "0,7,15,30,45 * * * *"),
        ("0 9-17/2 * * *", "0 9-17/2 * * *"),
        ("0 0,12 * * *", "0 */12 * * *"),
        ("0 0 1 JAN,apr,Jul,10 *", "0 0 1 */3 *"),
        ("0 0 1 jan-mar *", "0 0 1 1-3 *"),
        ("0 0 1 MAR/3 *", "0 0 1 3-12/3 *"),
        ("0 8 * * mon", "0 8 * * MON"),
        ("0 8 * * MON-FRI", "0 8 * * MON-FRI"),
        ("0 8 * * MON,TUE,WED,FRI", "0 8 * * MON-WED,FRI"),
        ("0 8 * * */2", "0 8 * * SUN,TUE,THU,SAT"),
        ("0 8 * * MON-FRI/2", "0 8 * * MON,WED,FRI"),
        ("0 8 * * WED/2", "0 8 * * WED,FRI"),
        ("0 8 * * SAT,SUN", "0 8 * * SUN,SAT"),
        ("0 8 * * MON-6", "0 8 * * MON-FRI"),
        ("0 8 * * L", "0 8 * * SAT"),
        ("0 18 * * 6L", "0 18 * * FRIL"),
        ("0 18 * * fril", "0 18 * * FRIL"),
        ("0 18 * * 6#2", "0 18 * * FRI#2"),
        ("59 23 LW * *", "59 23 LW * *"),
        ("59 23 lw * *", "59 23 LW * *"),
        ("0 0 L * *", "0 0 L * *"),
        ("0 0 l-03 * *", "0 0 L-3 * *"),
        ("0 0 15w * *", "0 0 15W * *"),
        ("0  8\t* *  MON", "0 8 * * MON"),
    ],
)
def test_equal_meanings_have_one_text(text: str, normalized: str | None) -> None:
    if normalized is None:  # every field is full, and yet two day fields are restricted as Cloudflare counts
        with pytest.raises(LunoraError, match="CRON_DAYS_AMBIGUOUS"):
            CronExpression.parse(text)
        return
    expression = CronExpression.parse(text)
    assert expression.normalized == normalized
    assert CronExpression.parse(normalized) == expression
    assert hash(CronExpression.parse(normalized)) == hash(expression)


@pytest.mark.parametrize(
    ("text", "begin", "fires"),
    [
        ("*/3 * * * *", "2026-01-01T00:00", ["2026-01-01T00:03", "2026-01-01T00:06"]),
        ("0 15 1 * *", "2026-01-01T15:00", ["2026-02-01T15:00", "2026-03-01T15:00"]),
        ("0 17 * * sun", "2026-01-01T00:00", ["2026-01-04T17:00", "2026-01-11T17:00"]),
        ("0 18 * * friL", "2026-01-01T00:00", ["2026-01-30T18:00", "2026-02-27T18:00"]),
        ("59 23 LW * *", "2026-01-01T00:00", ["2026-01-30T23:59", "2026-02-27T23:59", "2026-03-31T23:59"]),
        ("0 0 L * *", "2024-01-31T00:00", ["2024-02-29T00:00", "2024-03-31T00:00"]),
        ("0 0 L-3 * *", "2026-01-01T00:00", ["2026-01-28T00:00", "2026-02-25T00:00"]),
        ("0 0 L-30 * *", "2026-01-02T00:00", ["2026-03-01T00:00", "2026-05-01T00:00"]),
        ("0 0 L-28 2 *", "2026-01-01T00:00", ["2028-02-01T00:00"]),
        ("0 0 15W * *", "2026-01-20T00:00", ["2026-02-16T00:00", "2026-03-16T00:00", "2026-04-15T00:00"]),
        ("0 0 1W * *", "2026-07-15T00:00", ["2026-08-03T00:00"]),  # the 1st is a Saturday: not back into July
        ("0 0 31W 5,7 *", "2026-05-01T00:00", ["2026-05-29T00:00", "2026-07-31T00:00"]),  # 31 May is a Sunday
        ("0 0 * * FRI#2", "2026-01-01T00:00", ["2026-01-09T00:00", "2026-02-13T00:00"]),
        ("0 0 * * FRI#5", "2026-02-01T00:00", ["2026-05-29T00:00", "2026-07-31T00:00"]),
        ("0 0 31 * *", "2026-01-31T00:00", ["2026-03-31T00:00", "2026-05-31T00:00"]),
        ("0 0 29 2 *", "2026-01-01T00:00", ["2028-02-29T00:00", "2032-02-29T00:00"]),
        ("0 0 29 2 *", "2096-03-01T00:00", ["2104-02-29T00:00"]),
        ("0 0 * 2 FRI#5", "2020-01-01T00:00", ["2036-02-29T00:00"]),  # denoland/deno#34879: beyond five years
        ("0 0 * 2 FRI#5", "2093-01-01T00:00", ["2104-02-29T00:00"]),
        ("0 0 * 2 WED#5", "2073-01-01T00:00", ["2096-02-29T00:00", "2108-02-29T00:00"]),
        ("0 0 1 1 *", "2026-12-31T23:59", ["2027-01-01T00:00"]),
        ("59 23 31 12 *", "2026-12-31T23:58", ["2026-12-31T23:59", "2027-12-31T23:59"]),
    ],
)
def test_it_fires_when_the_documentation_says(text: str, begin: str, fires: list[str]) -> None:
    assert _fires(text, begin, len(fires)) == fires


@pytest.mark.parametrize(
    ("text", "notice"),
    [
        ("0 0 * * 2-6", "reads MON-FRI. Write MON-FRI if you mean that, or TUE-SAT if you mean what Unix reads"),
        ("0 0 * * 7", "reads SAT. Write SAT if you mean that, or SUN if you mean what Unix reads"),
        ("0 0 * * 6L", "reads FRIL. Write FRIL if you mean that, or SATL if you mean what Unix reads"),
        ("0 0 * * 6#2", "reads FRI#2. Write FRI#2 if you mean that, or SAT#2 if you mean what Unix reads"),
        ("0 0 * * MON,5", "reads MON,THU. Write MON,THU"),
        ("0 0 * * 2/2", "reads MON,WED,FRI. Write MON,WED,FRI"),
        ("0 0 * * 1-7", "reads *. Write *"),
        ("0 0 * * L", "the day of week field is 'L': Cloudflare reads SAT"),
        ("0 0 lw * *", "Cloudflare's published parser reads capitals only"),
        ("0 0 * * fril", "Cloudflare's published parser reads capitals only"),
        ("0 0 31 * *", "months without a day 31 are passed over. For the last day of each month write L"),
        ("0 0 29 2 *", "months without a day 29 are passed over"),
    ],
)
def test_what_is_easily_meant_otherwise_gets_a_notice(text: str, notice: str) -> None:
    (given,) = CronExpression.parse(text).notices
    assert notice in given


@pytest.mark.parametrize(
    "text",
    [
        "0 0 * * MON/2",
        "0 0 * * */2",
        "0 0 * * FRI#2",
        "0 0 * * wed",
        "0 0 28 * *",
        "0 0 31 1,3 *",
        "0 0 31 2 *",
        "0 0 L * *",
    ],
)
def test_what_is_plain_gets_none(text: str) -> None:
    assert CronExpression.parse(text).notices == ()


# -- instants --------------------------------------------------------------------------------------------------


def test_next_is_strictly_after_and_previous_strictly_before() -> None:
    hourly = CronExpression.parse("0 * * * *")
    nine = datetime(2026, 1, 1, 9, tzinfo=UTC)
    second = timedelta(microseconds=1)
    assert hourly.next_after(nine) == nine + timedelta(hours=1)
    assert hourly.next_after(nine - second) == nine
    assert hourly.next_after(nine + second) == nine + timedelta(hours=1)
    assert hourly.previous_before(nine) == nine - timedelta(hours=1)
    assert hourly.previous_before(nine + second) == nine
    assert hourly.previous_before(nine - second) == nine - timedelta(hours=1)


def test_instants_of_other_zones_are_read_in_utc() -> None:
    daily = CronExpression.parse("0 8 * * *")
    local = datetime(2026, 1, 1, 9, 30, tzinfo=timezone(timedelta(hours=2)))
    found = daily.next_after(local)
    assert found == datetime(2026, 1, 1, 8, tzinfo=UTC)
    assert found is not None
    assert found.tzinfo is UTC
    odd = datetime(2026, 1, 1, 8, tzinfo=timezone(timedelta(seconds=30)))
    assert daily.next_after(odd) == datetime(2026, 1, 1, 8, tzinfo=UTC)
    assert daily.previous_before(odd) == datetime(2025, 12, 31, 8, tzinfo=UTC)


def test_the_calendar_ends_without_harm() -> None:
    minutely = CronExpression.parse("* * * * *")
    last = datetime(9999, 12, 31, 23, 59, tzinfo=UTC)
    first = datetime(1, 1, 1, tzinfo=UTC)
    assert minutely.next_after(last) is None
    assert minutely.next_after(datetime.max.replace(tzinfo=UTC)) is None
    assert minutely.previous_before(datetime.max.replace(tzinfo=UTC)) == last
    assert minutely.previous_before(first) is None
    assert minutely.next_after(first) == first + timedelta(minutes=1)
    # these are beyond what can be written in UTC
    late = datetime.max.replace(tzinfo=timezone(-timedelta(hours=5)))
    early = datetime.min.replace(tzinfo=timezone(timedelta(hours=5)))
    assert minutely.next_after(late) is None
    assert minutely.previous_before(late) == last
    assert minutely.next_after(early) == first
    assert minutely.previous_before(early) is None
    assert CronExpression.parse("0 0 29 2 *").next_after(datetime(9996, 3, 1, tzinfo=UTC)) is None
    assert CronExpression.parse("0 0 29 2 *").previous_before(datetime(4, 2, 1, tzinfo=UTC)) is None
    assert [fire.minute for fire in minutely.fires_after(last - timedelta(minutes=2))] == [58, 59]


def test_the_rarest_expression_is_found_quickly() -> None:
    began = time.perf_counter()
    for text in ("0 0 29 2 *", "0 0 * 2 FRI#5", "0 0 L-28 2 *"):
        expression = CronExpression.parse(text)
        for year in range(1, 9900, 100):
            assert expression.next_after(datetime(year, 3, 1, tzinfo=UTC)) is not None
    assert time.perf_counter() - began < 3


@pytest.mark.parametrize(
    ("instant", "words"),
    [
        (datetime(2026, 1, 1), "has no time zone, and crons are in UTC; write datetime(..., tzinfo=UTC)"),  # noqa: DTZ001
        (0, "it must be a datetime with a time zone"),
        (None, "it must be a datetime with a time zone"),
        (datetime(2026, 1, 1, tzinfo=UTC).date(), "it must be a datetime with a time zone"),
    ],
)
def test_an_instant_without_a_zone_is_refused_at_once(instant: Any, words: str) -> None:
    expression = CronExpression.parse("* * * * *")
    for ask in (expression.next_after, expression.previous_before, expression.fires_after, expression.fires_before):
        with pytest.raises(LunoraError) as refused:
            ask(instant)
        assert refused.value.code == "INVALID_INPUT"
        assert words in refused.value.message
