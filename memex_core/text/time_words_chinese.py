"""Times as Chinese says them, in the rules of the English ones: `两周前` is that whole week, a bare `周五`
the latest one before today. `最近`, `前几天`, `半个月前` mean nothing, nor, as in wikimem, does `昨晚`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date, timedelta

from memex_core.text.calendar_days import (
    Days,
    Recurring,
    Unit,
    every_day_of_month,
    every_month,
    every_month_day,
    every_quarter,
    every_weekday,
    moved,
    unit_at,
    weekday_at,
    weekend_at,
    whole_year,
)
from memex_core.text.chinese_lookalikes import CHINESE_LOOKALIKES
from memex_core.text.time_mentions import NOTHING, Language, Meaning, Rule, by_beginning

_VALUES = {char: value for value, char in enumerate("零一二三四五六七八九")} | {"〇": 0, "两": 2}
_PLACES = {"十": 10, "百": 100, "千": 1000}
_NUMERALS = "零〇一二两三四五六七八九十百千"
_NUMBER = rf"[0-9]{{1,9}}|[{_NUMERALS}]{{1,8}}"
_UNITS: dict[str, Unit] = {"天": "day", "周": "week", "星": "week", "礼": "week", "月": "month", "年": "year"}
_WEEK = "(?:周|星期|礼拜)"
# "上周三个会议" counts, "上周一直" goes on: what follows makes the numeral something else than a weekday.
_COUNTED = (
    r"(?!个(?!人)|次(?!日|要)|天(?![气空津])|周(?![会报末边])|年(?![会终度底级])|月(?![会底度报])|种|位(?!置)|件|条(?!件)"
    r"|份(?!额)|项(?!目)|名(?!单)|轮|遍|篇|张|台|只|直(?![播接到])|共(?![享同])|起(?![草飞床]|[\s，。,、；;：:？?！!]|\Z)|些|样(?!本)|边|旦|致"
    r"|切(?!换)|般|百|千|十|万)"
)
_WEEKDAY = (
    rf"[一二三四五六]{_COUNTED}|日(?![常志报程期记历语本元均活])"
    r"|(?<=[期拜])天(?!空|天(?!气))|(?<=周)天(?![气空天数津])"
)
_TO = r"[-–~—到至]"
_TO_WEEKDAY = rf"(?:{_TO}(?P<to>[一二三四五六日])(?![点楼层号时月十百者]){_COUNTED})?"
_HOURS = r"(?:的?(?:早上|早晨|清晨|凌晨|上午|中午|下午|傍晚|晚上|夜里|夜晚|深夜|半夜|一早))?"
_MOON = r"(?![亮光球饼色台票食蚀牙经薪供租老嫂季])"
_YEAR = r"[0-9]{4}|[零〇一二三四五六七八九]{4}"
_BOUND = re.compile(
    r"(?:超过|不到|不足|不满|不止|至少|最少|起码|最多|至多|多于|少于|大于|小于|早于|晚于)\s{0,4}\Z"
)
"""Before an amount: other times are meant than the one that long ago."""
_FULL_YEAR = r"(?:19|20)[0-9]{2}|[一二][零〇九][零〇一二三四五六七八九]{2}"
_DAY_WORDS = {
    "大前天": -3, "前天": -2, "昨天": -1, "昨日": -1, "昨儿": -1, "今天": 0, "今日": 0, "今儿": 0,
    "明天": 1, "明日": 1, "明儿": 1, "后天": 2, "大后天": 3,
}  # fmt: skip
_YEAR_WORDS = {"大前年": -3, "前年": -2, "去年": -1, "今年": 0, "明年": 1, "后年": 2}


def _rule(begins: str, pattern: str, meaning: Callable[[re.Match[str], date], Meaning]) -> Rule:
    """A rule that begins with one of the characters of `begins`."""
    return Rule(tuple(begins), pattern, meaning)


def _number(text: str) -> int:
    """`15`, `十五`, `二〇二五`. ValueError for what is no number."""
    if text.isdigit() and text.isascii():
        return int(text)
    if not set(text) & set(_PLACES):
        return int("".join(str(_VALUES[char]) for char in text))
    total = digit = 0
    for char in text:
        if char in _PLACES:
            total, digit = total + (digit or 1) * _PLACES[char], 0
        else:
            digit = _VALUES[char]
    return total + digit


def _numbers(text: str, second: str | None) -> tuple[int, int]:
    """Lowest and highest: `3-5`, and also `两三` and `三五`, which mean two or three, three to five."""
    if second:
        low, high = sorted((_number(text), _number(second)))
        return low, high
    digits = [_VALUES.get(char, 0) for char in text]
    if len(digits) == 2 and 0 < digits[0] < digits[1]:
        return digits[0], digits[1]
    return _number(text), _number(text)


def _nothing(_match: re.Match[str], _today: date) -> Meaning:
    return NOTHING


def _day_word(match: re.Match[str], today: date) -> Meaning:
    return Meaning(unit_at("day", today, _DAY_WORDS[match["word"]]))


def _this_or_next(match: re.Match[str], today: date) -> Meaning:
    return Meaning(unit_at("day", today, 0 if match.group()[0] == "今" else 1))


def _unit(match: re.Match[str]) -> Unit:
    return _named_unit(match["unit"])


def _named_unit(name: str) -> Unit:
    return _UNITS[name.removeprefix("个")[0]]


def _ago(match: re.Match[str], today: date) -> Meaning:
    if _BOUND.search(match.string, max(match.start() - 8, 0), match.start()):
        return NOTHING
    near, far = _numbers(match["n"], match["m"])
    unit = _unit(match)
    if unit == "year" and far >= 1000:  # "before 2025"
        return NOTHING
    if match["first"]:
        near_days = unit_at(_named_unit(match["first"]), today, -_number(match["n"]))
        far_days = unit_at(unit, today, -_number(match["m"]))
        return Meaning(Days(min(near_days.start, far_days.start), max(near_days.end, far_days.end)))
    days = Days(unit_at(unit, today, -far).start, unit_at(unit, today, -near).end)
    return Meaning(days, unit if near == far else None)


def _until_today(match: re.Match[str], today: date) -> Meaning:
    """Three full days and today for `最近三天`."""
    number = _numbers(match["n"], None)[1]
    if match["unit"].endswith("小时"):
        return Meaning(Days(today - timedelta(days=-(-number // 24)), today))
    return Meaning(Days(moved(today, _unit(match), -number), today))


def _move(text: str) -> int:
    return len(text) * {"上": -1, "下": 1}.get(text[0], 0)


def _week(match: re.Match[str], today: date) -> Meaning:
    offset = _move(match["move"])
    if match["day"]:
        first = weekday_at(_weekday_number(match["day"]), today, offset)
        return Meaning(_to_weekday(first, match["to"]))
    if match["end"]:
        return Meaning(weekend_at(today, offset))
    return Meaning(unit_at("week", today, offset), "week")


def _weekday_number(char: str) -> int:
    return "一二三四五六日".index(char.replace("天", "日"))


def _to_weekday(first: Days, to: str | None) -> Days:
    """From Monday to the Wednesday that follows for `周一至三`."""
    last = every_weekday(_weekday_number(to)).first(first.start) if to else None
    return Days(first.start, last.end) if last else first


def _weekday(match: re.Match[str], today: date) -> Meaning:
    every = every_weekday(_weekday_number(match["day"]))
    if match["to"]:
        last = every_weekday(_weekday_number(match["to"])).latest(today - timedelta(days=1))
        first = every.latest(last.start) if last else None
        return Meaning(_to_weekday(first, match["to"])) if first else NOTHING
    return Meaning(every.latest(today - timedelta(days=1)), recurring=every)


def _month_word(match: re.Match[str], today: date) -> Meaning:
    month = unit_at("month", today, _move(match["move"]))
    if match["day"]:
        return Meaning(every_day_of_month(_number(match["day"])).within(month))
    return Meaning(month, "month")


def _quarter_word(match: re.Match[str], today: date) -> Meaning:
    return Meaning(unit_at("quarter", today, _move(match["move"])))


def _quarter(match: re.Match[str], today: date) -> Meaning:
    every = every_quarter(_number(match["q"]))
    return Meaning(every.latest(today), recurring=every)


def _year_word(match: re.Match[str], today: date) -> Meaning:
    return Meaning(unit_at("year", today, _YEAR_WORDS[match["word"]]), "year")


def _year(match: re.Match[str], _today: date) -> Meaning:
    if match["to"]:
        return Meaning(Days(whole_year(_number(match["y"])).start, whole_year(_number(match["to"])).end))
    return Meaning(whole_year(_number(match["y"])), "year")


def _date(match: re.Match[str], today: date) -> Meaning:
    """`2025年7月21日`, `7月21号`, `7月`, `25年7月`."""
    month, day = _number(match["m"]), match["d"] or match["e"]
    year = _number(match["y"]) if match["y"] else None
    if year is not None and len(match["y"]) == 2:
        year += (today.year + 1 - year) // 100 * 100
    if day:
        every = _dates(month, _number(day), _number(match["to"] or day), match["and"])
    else:
        every = _months(month, _number(match["m2"] or match["m"]), match["and_month"])
    if year is not None:
        return Meaning(every.within(whole_year(year)), dated=bool(day))
    return Meaning(every.latest(today), recurring=every, dated=bool(day))


def _dates(month: int, first: int, last: int, listed: str | None) -> Recurring:
    """All days from the first to the last; of two in a list that are no neighbours the first."""
    meant = last > first and (not listed or last == first + 1)
    return every_month_day(month, first, last if meant else None)


def _months(first: int, last: int, listed: str | None) -> Recurring:
    if listed and last != first + 1:
        raise ValueError(f"months {first} and {last}")
    return every_month(first, last)


def _day_of_month(match: re.Match[str], today: date) -> Meaning:
    every = every_day_of_month(_number(match["d"]))
    return Meaning(every.latest(today), recurring=every, alone=False)


_NUMBER_BEGINS = "0123456789" + _NUMERALS
_FREE = rf"(?<![0-9{_NUMERALS}第几数.])"
_BEFORE_NOW = r"(?:以|之)?前(?![端后台提沿景途缀置往进]|天(?!气|天))"
_WEEKDAYS_TOO = rf"{_WEEK}[一二三四五六日天末]?"
_MONTH_NUMBER = r"[0-9]{1,2}|[一二三四五六七八九十]{1,2}"
_DAY_NUMBER = r"[0-9]{1,2}|[一二三四五六七八九十]{1,3}"
_RULES = (
    _rule("".join({word[0] for word in CHINESE_LOOKALIKES}), "|".join(CHINESE_LOOKALIKES), _nothing),
    _rule("第最首", rf"(?:第[一二三四五1-5]|最后一?|首)个{_WEEKDAYS_TOO}", _nothing),
    _rule("大再", rf"[大再]上{{1,3}}一?个?(?:月|{_WEEK}(?:[末天]|[一二三四五六]{_COUNTED}|日)?)", _nothing),
    _rule("每逢", rf"(?:每个?|逢){_WEEKDAYS_TOO}", _nothing),
    _rule("每", rf"每(?:年\s?(?:{_MONTH_NUMBER})\s?|个?)月(?:(?:{_DAY_NUMBER})\s?[日号])?", _nothing),
    _rule(
        "大前昨今明后",
        rf"(?P<word>{'|'.join(_DAY_WORDS)})(?!性|养成|形成|失调|努力|习得){_HOURS}",
        _day_word,
    ),
    _rule("今明", "今早上?|今晨|今晚上?|今夜|明早上?|明晨|明晚上?", _this_or_next),
    _rule(
        _NUMBER_BEGINS,
        rf"{_FREE}(?<![零又])(?<!个月)(?<!年)(?!零)(?P<n>{_NUMBER})(?:\s?(?P<first>天|个?{_WEEK}|个月|年)?\s?[-–~—到至或]\s?"
        rf"(?P<m>{_NUMBER}))?\s?(?P<unit>天|个?{_WEEK}|个月|年)"
        rf"{_BEFORE_NOW}",
        _ago,
    ),
    _rule(
        "最近过",
        rf"(?:最近|近|过去)[的这]?\s?(?P<n>{_NUMBER})\s?(?P<unit>天|个?{_WEEK}|个月|年|个?小时)(?:以来|之?内)?",
        _until_today,
    ),
    _rule(
        "上下这本",
        rf"(?P<move>上{{1,4}}|下{{1,3}}|这|本)一?(?P<one>个)?{_WEEK}(?:(?P<day>{_WEEKDAY}){_TO_WEEKDAY}{_HOURS}|(?P<end>末)"
        r"|(?!围(?!绕)|边|期(?!间|末|中)|刊|转|身|岁)(?(one)(?![报会])))",
        _week,
    ),
    _rule(
        "周星礼",
        rf"(?<![0-9{_NUMERALS}几数半每隔]){_WEEK}(?P<day>{_WEEKDAY}){_TO_WEEKDAY}{_HOURS}",
        _weekday,
    ),
    _rule(
        "上下这本",
        rf"(?P<move>上{{1,4}}|下{{1,3}}|这|本)一?个?月{_MOON}份?(?:的?(?P<day>{_DAY_NUMBER})\s?[日号]{_HOURS})?",
        _month_word,
    ),
    _rule("上下这本", r"(?P<move>上{1,4}|下{1,3}|这|本)一?个?季度", _quarter_word),
    _rule("第", r"第(?P<q>[一二三四1-4])季度", _quarter),
    _rule("大前去今明后", rf"(?P<word>{'|'.join(_YEAR_WORDS)})(?![轻纪龄])", _year_word),
    _rule(
        "12一二",
        rf"{_FREE}(?P<y>{_FULL_YEAR})(?:\s?{_TO}\s?(?P<to>{_FULL_YEAR}))?\s?年(?![代级龄限轻薪])"
        rf"(?(to)(?!\s?(?:{_MONTH_NUMBER})\s?月))",
        _year,
    ),
    _rule(
        _NUMBER_BEGINS,
        rf"(?<![0-9{_NUMERALS}第几个.])(?:(?<![0-9][/-])|(?<=月[0-9][/-])|(?<=月[0-9][0-9][/-]))"
        rf"(?:(?P<y>{_YEAR}|[0-9]{{2}})\s?年\s?)?(?P<m>{_MONTH_NUMBER})"
        rf"(?:\s?(?:{_TO}|(?P<and_month>[、和与]))\s?(?P<m2>{_MONTH_NUMBER}))?\s?月"
        rf"(?:份?\s?(?P<d>{_DAY_NUMBER})(?:\s?[日号]?\s?(?:{_TO}|(?P<and>[、和与及]))\s?(?P<to>{_DAY_NUMBER}))?"
        rf"\s?[日号]{_HOURS}|\s?(?P<e>[0-9]{{1,2}})(?=[\s，。,、；;：:？?！!的]|\Z|{_TO}\s?[0-9]{{1,2}}\s?月)"
        rf"|{_MOON}(?![内余{_NUMERALS}])份?)",
        _date,
    ),
    _rule(_NUMBER_BEGINS, rf"{_FREE}(?<![月-])(?P<d>{_DAY_NUMBER})\s?[日号]{_HOURS}", _day_of_month),
)

_TABLE = by_beginning(_RULES)
_KEYS = "".join(sorted(key for key in _TABLE if key not in "0123456789"))
CHINESE = Language(rf"(?<![0-9])[0-9]|[{_KEYS}]", _TABLE)
