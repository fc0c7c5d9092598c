"""What stands beside a time and says how it is meant: "since", "not", "the week of", `以来`, `那周`."""

from __future__ import annotations

import re

_EDGE_OF = (
    r"(?:(?:about|around|roughly|approximately|maybe|perhaps|sometime|just|early|late|mid)\s{1,8}){0,2}"
    r"(?:(?:the\s{1,8})?(?:start|beginning|middle|end|close)\s{1,8}of\s{1,8})?(?:the\s{1,8})?"
)
_A_NUMBER = (
    r"(?:[0-9]{1,9}|an?|one|two|three|four|five|six|seven|eight|nine|ten|dozen"
    r"|couple(?:\s{1,8}of)?|few|several|some)"
)
LEAD = re.compile(
    r"(?<![A-Za-z0-9_-])(?:"
    rf"(?P<away>{_A_NUMBER}\s{{1,8}}(?:hour|day|night|morning|week|fortnight|month|year)s?"
    r"\s{1,8}(?:before|after|from|since|prior\s{1,8}to))\s{1,8}(?:the\s{1,8})?"
    r"|(?P<word>between|from|since|starting|beginning|as\s{1,8}from|after|before|until|till|by|prior\s{1,8}to"
    rf"|up\s{{1,8}}to)\s{{1,8}}{_EDGE_OF}(?:on\s{{1,8}})?"
    r"|(?P<beside>(?:the\s{1,8})?(?P<unit>day|night|morning|week|month|year)\s{1,8}(?:before|after))\s{1,8}"
    r"|(?:the\s{1,8})?(?P<whole>week(?:end)?)\s{1,8}(?P<how>of|containing|starting|beginning|commencing|ending)"
    r"\s{1,8}(?:on\s{1,8})?(?:the\s{1,8})?"
    r"|(?P<char>自从|(?<![来亲各独])自|从|截至|截止到?|介于)\s{0,8})\Z",
    re.I,
)
"""The preposition before a time."""
OUTSIDE = re.compile(
    r"(?<![A-Za-z0-9_-])(?:not|neither|nor|without|except(?:\s{1,8}for)?|excluding|besides"
    r"|(?:apart|aside)\s{1,8}from|other\s{1,8}than"
    r"|instead\s{1,8}of|rather\s{1,8}than|(?:later|earlier|sooner|older|newer)\s{1,8}than|due|ahead\s{1,8}of"
    r"|as\s{1,8}(?:late|early)\s{1,8}as|as\s{1,8}of|up\s{1,8}to\s{1,8}and\s{1,8}including"
    r"|(?:moved|postponed|rescheduled|pushed|delayed|deferred|shifted)\s{1,8}(?:to|for))"
    r"\s{1,8}(?:(?:on|in|during|at|by)\s{1,8})?(?:the\s{1,8})?\Z"
    r"|(?:(?<![是要])不是|并非|(?<![删移清解排免去开扣])除[了开去]?|不包括|不含|不算|[早晚迟先]于|最[晚迟早]|[至最]迟"
    r"|(?:直|等|改|推迟|延[期后]?|拖|挪|提前|持续)到|(?<![\u4e00-\u9fff])[到至])在?\s{0,8}\Z",
    re.I,
)
"""What says that the days after it are not meant, or only bound others: "not", "except", "later than"."""
TO = re.compile(r"\s{0,8}(?:\b(?:to|through|thru|until|till)\b|\.\.|[-–—~到至])\s{0,8}(?:the\s{1,8})?", re.I)
AND = re.compile(r"\s{0,8}(?:\band\b|[和与跟])\s{0,8}(?:the\s{1,8})?", re.I)
LISTED = re.compile(
    r"\s{0,8}(?:,?\s{0,8}\b(?:and(?:\s{1,8}also)?|n?or|as\s{1,8}well\s{1,8}as)\b|&"
    r"|，?(?:以及|或者|还是|还有|[、和与跟及或]))"
    r"\s{0,8}(?:(?:on|in)\s{1,8})?(?:the\s{1,8})?",
    re.I,
)
"""Between the times of a list, the last two at least; a comma may stand between those before."""
COMMA = re.compile(r"\s{0,8},\s{0,8}")
ON = re.compile(
    r"\s{0,8}(?:(?:年?[底末初])?(?:以来|至今|到现在|或者?更晚|或?者?之后|或?者?以后|后(?![来面端台续果半期天])"
    r"|开始(?![之以]?前)|起(?![来床草飞点步码初因源]))(?!的?[0-9一两二三四五六七八九十几]{1,3}个?(?:[天周月年]|星期|礼拜))"
    r"|onwards?\b|on(?=\s{0,8}(?:[^\w\s]|\Z))|(?:or|and)\s{1,8}(?:later|after)(?=\s{0,8}(?:[^\w\s]|\Z))"
    r"|(?:until|till|to|up\s{1,8}to|through)\s{1,8}now\b)",
    re.I,
)
"""What says that a time goes on until today."""
BEFORE = re.compile(
    r"\s{0,8}(?:(?:结束|开始|年?[底末初])?或?者?[之以]?前(?![端天台后往提面期所])|或者?更早|为止"
    r"|(?:[之以]?后)的?[0-9一两二三四五六七八九十几]{1,3}个?(?:[天周月年]|星期|礼拜)"
    r"|(?:or|and)\s{1,8}(?:earlier|before|older)(?=\s{0,8}(?:[^\w\s]|\Z))"
    r"|at\s{1,8}(?:the\s{1,8})?(?:latest|earliest)\b)",
    re.I,
)
"""What says that other days than these are meant."""
BETWEEN = re.compile(r"\s{0,8}之间")
THAT_WEEK = re.compile(
    r"\s{0,8}(?:的?那一?个?|当|所在的?那?一?个?|的?这一?个?)(?:周|星期|礼拜)(?![一二三四五六日天末])"
)
BESIDE = re.compile(
    r"的?(?:(?P<before>前)|后)一个?(?P<unit>天|周|星期|礼拜|月)(?![一二三四五六日末])|的?第二天|的?次日"
)
