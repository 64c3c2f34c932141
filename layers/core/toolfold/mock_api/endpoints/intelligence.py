"""News with sentiment, call transcripts, movers of the day, insiders and institutions."""

from __future__ import annotations

from datetime import datetime, timedelta

from toolfold.mock_api.companies import COMPANIES, company
from toolfold.mock_api.endpoint import ENTITLEMENT, Document, Refused, Shape, empty_object, empty_rows
from toolfold.mock_api.request_parsing import Call, Parameter, is_unknown
from toolfold.mock_api.seeded_random import Draws
from toolfold.mock_api.stocks import as_traded
from toolfold.mock_api.trading_days import on_or_before

from .calendars import invented_ticker
from .core_stocks import SYMBOL
from .statements import reported_quarters, shares_outstanding

TOPICS = (
    "blockchain", "earnings", "ipo", "mergers_and_acquisitions", "financial_markets", "economy_fiscal",
    "economy_monetary", "economy_macro", "energy_transportation", "finance", "life_sciences", "manufacturing",
    "real_estate", "retail_wholesale", "technology",
)  # fmt: skip
# Upper limit of each label; the vendor writes one of them with an underscore in its explanation and not in the data.
LABELS = ((-0.35, "Bearish"), (-0.15, "Somewhat-Bearish"), (0.15, "Neutral"), (0.35, "Somewhat-Bullish"))
SENTIMENT_TEXT = (
    "x <= -0.35: Bearish; -0.35 < x <= -0.15: Somewhat-Bearish; -0.15 < x < 0.15: Neutral; "
    "0.15 <= x < 0.35: Somewhat_Bullish; x >= 0.35: Bullish"
)
RELEVANCE_TEXT = "0 < x <= 1, with a higher score indicating higher relevance."
STAMP, MINUTE_STAMP = "%Y%m%dT%H%M%S", "%Y%m%dT%H%M"
FIRST_NEWS = datetime(2022, 3, 1)
_VERBS = ("outlines", "expands", "reviews", "delays", "doubles", "defends", "trims", "unveils")
_THINGS = ("its sandbox budget", "a synthetic supply chain", "an imaginary product line", "a pretend factory",
           "its made-up guidance", "a fictional partnership")  # fmt: skip


def _label(score: float) -> str:
    return next((label for limit, label in LABELS if score < limit), "Bullish")


def _news(call: Call) -> Document:
    """Articles backwards from ``time_to``; an article is about every ticker and topic that was asked for."""
    tickers = call.items("tickers")
    if any(is_unknown(ticker) for ticker in tickers):
        raise Refused("invalid_inputs_news")
    newest = datetime.combine(call.today, datetime.min.time()) + timedelta(hours=23)
    until = min(_moment(call.text("time_to"), newest), newest)
    since = max(_moment(call.text("time_from"), FIRST_NEWS), FIRST_NEWS)
    draws = Draws("news", ",".join(tickers), call.text("topics"), until)
    feed: list[Document] = []
    moment = until - timedelta(minutes=draws.integer(0, 30))
    while moment >= since and len(feed) < call.integer("limit"):
        feed.append(_article(draws, moment, tickers, call.items("topics")))
        moment -= timedelta(minutes=draws.integer(5, 170), seconds=draws.integer(0, 59))
    if not feed:
        raise Refused("invalid_inputs_news")
    if call.text("sort") == "EARLIEST":
        feed.reverse()
    elif call.text("sort") == "RELEVANCE":
        feed.sort(key=lambda one: -max(float(entry["relevance_score"]) for entry in one["topics"]))
    return {
        "items": str(len(feed)),
        "sentiment_score_definition": SENTIMENT_TEXT,
        "relevance_score_definition": RELEVANCE_TEXT,
        "feed": feed,
    }


def _moment(text: str, otherwise: datetime) -> datetime:
    return datetime.strptime(text, MINUTE_STAMP) if text else otherwise


def _article(draws: Draws, moment: datetime, tickers: list[str], topics: list[str]) -> Document:
    about = tickers or draws.sample(sorted(COMPANIES), draws.integer(1, 3))
    others = draws.sample([one for one in TOPICS if one not in topics], draws.integer(1, 3))
    name = company(about[0].rpartition(":")[2]).name
    headline = f"{name} {draws.pick(_VERBS)} {draws.pick(_THINGS)}"
    number = draws.integer(100_000, 999_999)
    score = round(draws.between(-0.5, 0.6), 6)
    sentiments = []
    for ticker in about:
        own = max(-1.0, min(1.0, score + draws.between(-0.2, 0.2)))
        sentiments.append(
            {
                "ticker": ticker,
                "relevance_score": f"{draws.between(0.2, 1.0):.6f}",
                "ticker_sentiment_score": f"{own:.6f}",
                "ticker_sentiment_label": _label(own),
            }
        )
    return {
        "title": headline,
        "url": f"https://news.example/{number}",
        "time_published": moment.strftime(STAMP),
        "authors": draws.sample(("Alex Example", "Kim Sample", "Robin Placeholder"), draws.integer(1, 2)),
        "summary": f"{headline}. This article was invented by a local sandbox and says nothing about any company.",
        "banner_image": f"https://news.example/{number}.png",
        "source": draws.pick(("Example Wire", "Sample Street Journal", "Placeholder Post")),
        "category_within_source": draws.pick(("General", "Markets", "n/a")),
        "source_domain": "news.example",
        "topics": [{"topic": one, "relevance_score": f"{draws.between(0.1, 1.0):.6f}"} for one in (*topics, *others)],
        "overall_sentiment_score": score,
        "overall_sentiment_label": _label(score),
        "ticker_sentiment": sentiments,
    }


PEOPLE = (
    ("Jordan Example", "Head of Investor Relations"), ("Casey Sample", "Chief Executive Officer"),
    ("Morgan Placeholder", "Chief Financial Officer"), ("Riley Mock", "Analyst"), ("Avery Stub", "Analyst"),
)  # fmt: skip
_REMARKS = (
    "Revenue of {symbol} in {quarter} came out of a seeded generator, as in every quarter.",
    "Our margins are stable because the formula that makes them is.",
    "Could you say more about the drivers of that growth?",
    "We keep our guidance, and it remains entirely fictional.",
    "Cash flow was strong, and we returned some of it to imaginary shareholders.",
    "Thank you, and congratulations on a very reproducible quarter.",
)
FIRST_TRANSCRIPT = "2010Q1"
TRANSCRIPT_LENGTH = 40


def _transcript(call: Call) -> Document:
    symbol, quarter = call.text("symbol"), call.text("quarter")
    last = reported_quarters(call.today)[-1]
    known = FIRST_TRANSCRIPT <= quarter <= f"{last.year}Q{last.month // 3}"
    draws = Draws("transcript", symbol.upper(), quarter)
    spoken = []
    for place in range(TRANSCRIPT_LENGTH if known else 0):
        speaker, title = PEOPLE[place] if place < 3 else draws.pick(PEOPLE)
        remarks = [draws.pick(_REMARKS).format(symbol=symbol.upper(), quarter=quarter) for _ in range(4)]
        sentiment = f"{draws.between(0, 0.9):.1f}"
        spoken.append({"speaker": speaker, "title": title, "content": " ".join(remarks), "sentiment": sentiment})
    return {"symbol": symbol, "quarter": quarter, "transcript": spoken}


MOVER_KEYS = ("ticker", "price", "change_amount", "change_percentage", "volume")
MOVERS = 20


def _mover(draws: Draws, place: int, percent: float, volume: int) -> dict[str, str]:
    before = round(draws.between(0.4, 60), 2)
    price = round(before * (1 + percent / 100), 4)
    change = round(price - before, 4)
    values = [invented_ticker(place), str(price), str(change), f"{100 * change / before:.4f}%", str(volume)]
    return dict(zip(MOVER_KEYS, values, strict=True))


def _movers(call: Call) -> Document:
    day = on_or_before(call.today)
    draws = Draws("movers", day)
    gains = sorted((draws.between(18, 160) for _ in range(MOVERS)), reverse=True)
    losses = sorted(draws.between(-62, -12) for _ in range(MOVERS))
    volumes = sorted((draws.integer(40, 400) * 10**6 for _ in range(MOVERS)), reverse=True)
    return {
        "metadata": "Top gainers, losers, and most actively traded US tickers",
        "last_updated": f"{day.isoformat()} 16:16:00 US/Eastern",
        "top_gainers": [_mover(draws, n, gain, draws.integer(10**5, 10**7)) for n, gain in enumerate(gains)],
        "top_losers": [_mover(draws, 20 + n, loss, draws.integer(10**5, 10**7)) for n, loss in enumerate(losses)],
        "most_actively_traded": [
            _mover(draws, 40 + n, draws.between(-9, 12), volume) for n, volume in enumerate(volumes)
        ],
    }


INSIDER_KEYS = (
    "transaction_date", "ticker", "executive", "executive_title", "security_type", "acquisition_or_disposal", "shares",
    "share_price",
)  # fmt: skip
_INSIDERS = (("EXAMPLE, JORDAN A", "Director"), ("SAMPLE, CASEY", "Chief Executive Officer"),
             ("PLACEHOLDER, MORGAN B", "Chief Financial Officer"),
             ("MOCK, RILEY", "Senior Vice President"))  # fmt: skip
INSIDER_YEARS = 6


def _insiders(call: Call) -> Document:
    """Transactions of the last years, newest first; a grant has no price, which is written 0.0."""
    symbol = call.text("symbol").upper()
    since = call.text("from")
    prices = {bar.label: bar.close for bar in as_traded(symbol, call.today)}
    draws = Draws("insiders", symbol)
    rows = []
    for day in reversed(list(prices)[-252 * INSIDER_YEARS :]):
        if not Draws("insider day", symbol, day).chance(0.08) or day < since:
            continue
        executive, title = draws.pick(_INSIDERS)
        kind = draws.pick(("Common Stock", "Restricted Stock Unit", "Stock Option"))
        granted = kind == "Restricted Stock Unit"
        direction = "A" if granted or draws.chance(0.3) else "D"
        price = "0.0" if granted else str(prices[day])
        values = [day, symbol, executive, title, kind, direction, f"{draws.integer(50, 30_000)}.0", price]
        rows.append(dict(zip(INSIDER_KEYS, values, strict=True)))
    return {"data": rows}


HOLDING_KEYS = (
    "holder_name", "shares_held", "shares_changed", "shares_changed_percentage", "change_type", "last_reported",
)  # fmt: skip
HOLDERS = 60


def _institutions(call: Call) -> Document:
    """Sixty invented holders, the largest first; the totals are those of the list."""
    symbol = call.text("symbol").upper()
    shares, last = shares_outstanding(symbol), reported_quarters(call.today)[-1]
    draws = Draws("institutions", symbol)
    sizes = sorted((int(shares * 0.08 * draws.unit() ** 4) + 1000 for _ in range(HOLDERS)), reverse=True)
    rows = []
    counts = {"increased": 0, "decreased": 0, "unchanged": 0}
    changed = dict.fromkeys(counts, 0)
    for place, held in enumerate(sizes, 1):
        kind = draws.pick(("increased", "increased", "decreased", "decreased", "unchanged"))
        change = {"increased": 1, "decreased": -1, "unchanged": 0}[kind] * int(held * draws.between(0.005, 0.09))
        counts[kind] += 1
        changed[kind] += abs(change) if change else held
        percent = f"{100 * change / (held - change):.2f}%"
        values = [f"SANDBOX CAPITAL {place:02d}", str(held), str(change), percent, kind, last.isoformat()]
        rows.append(dict(zip(HOLDING_KEYS, values, strict=True)))
    split = {}
    for kind, count in counts.items():
        split[f"holders_with_{kind}_holdings"] = str(count)
        split[f"shares_with_{kind}_holdings"] = str(changed[kind])
    return {
        "symbol": symbol,
        "total_institutional_holders": str(HOLDERS),
        "total_institutional_shares": str(sum(sizes)),
        **split,
        "total_institutional_ownership_percentage": f"{100 * sum(sizes) / shares:.0f}%",
        "holdings": rows,
    }


_MINUTE = "minute"

SHAPES = (
    Shape(
        "NEWS_SENTIMENT",
        (
            Parameter("tickers", comma_list=True),
            Parameter("topics", comma_list=True, enum=TOPICS),
            Parameter("time_from", kind=_MINUTE),
            Parameter("time_to", kind=_MINUTE),
            Parameter("sort", enum=("LATEST", "EARLIEST", "RELEVANCE"), default="LATEST"),
            Parameter("limit", kind="integer", default="50", minimum=1, maximum=1000),
        ),
        _news,
        symbol="",
        refusal="invalid_inputs_news",
    ),
    Shape(
        "EARNINGS_CALL_TRANSCRIPT",
        (SYMBOL, Parameter("quarter", required=True, pattern=r"\d{4}Q[1-4]")),
        _transcript,
        unknown=empty_rows("symbol", "quarter", rows="transcript"),
    ),
    Shape("TOP_GAINERS_LOSERS", (ENTITLEMENT,), _movers, symbol=""),
    Shape("INSIDER_TRANSACTIONS", (SYMBOL, Parameter("from", kind="date")), _insiders, unknown=empty_rows(rows="data")),
    Shape("INSTITUTIONAL_HOLDINGS", (SYMBOL,), _institutions, unknown=empty_object),
)
