"""News with sentiment, call transcripts, top gainers and losers, insider transactions and institutional holdings."""

from __future__ import annotations

from datetime import datetime, timedelta

from toolfold.mock_api.endpoint import (
    ENTITLEMENT,
    ApiError,
    ApiRequest,
    Document,
    Endpoint,
    Parameter,
    document_without_rows,
    empty_document,
    is_unknown_symbol,
)
from toolfold.mock_api.endpoints.calendars import made_up_ticker
from toolfold.mock_api.endpoints.core_stocks import SYMBOL
from toolfold.mock_api.endpoints.statements import reported_quarters, shares_outstanding
from toolfold.mock_api.price_series import trading_day_on_or_before
from toolfold.mock_api.seeded_random import SeededRandom
from toolfold.mock_api.stocks import COMPANIES, get_company, unadjusted_bars

TOPICS = (
    "blockchain", "earnings", "ipo", "mergers_and_acquisitions", "financial_markets", "economy_fiscal",
    "economy_monetary", "economy_macro", "energy_transportation", "finance", "life_sciences", "manufacturing",
    "real_estate", "retail_wholesale", "technology",
)  # fmt: skip
# Upper limit of each label. The vendor's explanation has an underscore in one of them, its data has not.
LABELS = ((-0.35, "Bearish"), (-0.15, "Somewhat-Bearish"), (0.15, "Neutral"), (0.35, "Somewhat-Bullish"))
SENTIMENT_TEXT = (
    "x <= -0.35: Bearish; -0.35 < x <= -0.15: Somewhat-Bearish; -0.15 < x < 0.15: Neutral; "
    "0.15 <= x < 0.35: Somewhat_Bullish; x >= 0.35: Bullish"
)
RELEVANCE_TEXT = "0 < x <= 1, with a higher score indicating higher relevance."
STAMP, MINUTE_STAMP = "%Y%m%dT%H%M%S", "%Y%m%dT%H%M"
FIRST_NEWS = datetime(2022, 3, 1)
_VERBS = ("outlines", "expands", "reviews", "delays", "doubles", "defends", "trims", "unveils")
_THINGS = ("its example budget", "a synthetic supply chain", "an imaginary product line", "a pretend factory",
           "its made-up guidance", "a fictional partnership")  # fmt: skip


def _label(score: float) -> str:
    return next((label for limit, label in LABELS if score < limit), "Bullish")


def _news(request: ApiRequest) -> Document:
    """Return articles backwards from ``time_to``. Each article is about every requested ticker and topic."""
    tickers = request.comma_list("tickers")
    if any(is_unknown_symbol(ticker) for ticker in tickers):
        raise ApiError("invalid_inputs_news")
    newest = datetime.combine(request.today, datetime.min.time()) + timedelta(hours=23)
    until = min(_parse_time(request.text("time_to"), newest), newest)
    since = max(_parse_time(request.text("time_from"), FIRST_NEWS), FIRST_NEWS)
    rng = SeededRandom("news", ",".join(tickers), request.text("topics"), until)
    feed: list[Document] = []
    time = until - timedelta(minutes=rng.randint(0, 30))
    while time >= since and len(feed) < request.integer("limit"):
        feed.append(_article(rng, time, tickers, request.comma_list("topics")))
        time -= timedelta(minutes=rng.randint(5, 170), seconds=rng.randint(0, 59))
    if not feed:
        raise ApiError("invalid_inputs_news")
    if request.text("sort") == "EARLIEST":
        feed.reverse()
    elif request.text("sort") == "RELEVANCE":
        feed.sort(key=lambda one: -max(float(entry["relevance_score"]) for entry in one["topics"]))
    return {
        "items": str(len(feed)),
        "sentiment_score_definition": SENTIMENT_TEXT,
        "relevance_score_definition": RELEVANCE_TEXT,
        "feed": feed,
    }


def _parse_time(text: str, default: datetime) -> datetime:
    return datetime.strptime(text, MINUTE_STAMP) if text else default


def _article(rng: SeededRandom, time: datetime, tickers: list[str], topics: list[str]) -> Document:
    about = tickers or rng.sample(sorted(COMPANIES), rng.randint(1, 3))
    others = rng.sample([one for one in TOPICS if one not in topics], rng.randint(1, 3))
    name = get_company(about[0].rpartition(":")[2]).name
    headline = f"{name} {rng.choice(_VERBS)} {rng.choice(_THINGS)}"
    number = rng.randint(100_000, 999_999)
    score = round(rng.uniform(-0.5, 0.6), 6)
    sentiments = []
    for ticker in about:
        own = max(-1.0, min(1.0, score + rng.uniform(-0.2, 0.2)))
        sentiments.append(
            {
                "ticker": ticker,
                "relevance_score": f"{rng.uniform(0.2, 1.0):.6f}",
                "ticker_sentiment_score": f"{own:.6f}",
                "ticker_sentiment_label": _label(own),
            }
        )
    return {
        "title": headline,
        "url": f"https://news.example/{number}",
        "time_published": time.strftime(STAMP),
        "authors": rng.sample(("Alex Example", "Kim Sample", "Robin Placeholder"), rng.randint(1, 2)),
        "summary": f"{headline}. This article was invented by the mock API and says nothing about any company.",
        "banner_image": f"https://news.example/{number}.png",
        "source": rng.choice(("Example Wire", "Sample Street Journal", "Placeholder Post")),
        "category_within_source": rng.choice(("General", "Markets", "n/a")),
        "source_domain": "news.example",
        "topics": [{"topic": one, "relevance_score": f"{rng.uniform(0.1, 1.0):.6f}"} for one in (*topics, *others)],
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


def _transcript(request: ApiRequest) -> Document:
    symbol, quarter = request.text("symbol"), request.text("quarter")
    last = reported_quarters(request.today)[-1]
    known = FIRST_TRANSCRIPT <= quarter <= f"{last.year}Q{last.month // 3}"
    rng = SeededRandom("transcript", symbol.upper(), quarter)
    spoken = []
    for index in range(TRANSCRIPT_LENGTH if known else 0):
        speaker, title = PEOPLE[index] if index < 3 else rng.choice(PEOPLE)
        remarks = [rng.choice(_REMARKS).format(symbol=symbol.upper(), quarter=quarter) for _ in range(4)]
        sentiment = f"{rng.uniform(0, 0.9):.1f}"
        spoken.append({"speaker": speaker, "title": title, "content": " ".join(remarks), "sentiment": sentiment})
    return {"symbol": symbol, "quarter": quarter, "transcript": spoken}


MOVER_KEYS = ("ticker", "price", "change_amount", "change_percentage", "volume")
MOVERS = 20


def _mover(rng: SeededRandom, index: int, percent: float, volume: int) -> dict[str, str]:
    before = round(rng.uniform(0.4, 60), 2)
    price = round(before * (1 + percent / 100), 4)
    change = round(price - before, 4)
    values = [made_up_ticker(index), str(price), str(change), f"{100 * change / before:.4f}%", str(volume)]
    return dict(zip(MOVER_KEYS, values, strict=True))


def _movers(request: ApiRequest) -> Document:
    day = trading_day_on_or_before(request.today)
    rng = SeededRandom("movers", day)
    gains = sorted((rng.uniform(18, 160) for _ in range(MOVERS)), reverse=True)
    losses = sorted(rng.uniform(-62, -12) for _ in range(MOVERS))
    volumes = sorted((rng.randint(40, 400) * 10**6 for _ in range(MOVERS)), reverse=True)
    return {
        "metadata": "Top gainers, losers, and most actively traded US tickers",
        "last_updated": f"{day.isoformat()} 16:16:00 US/Eastern",
        "top_gainers": [_mover(rng, n, gain, rng.randint(10**5, 10**7)) for n, gain in enumerate(gains)],
        "top_losers": [_mover(rng, 20 + n, loss, rng.randint(10**5, 10**7)) for n, loss in enumerate(losses)],
        "most_actively_traded": [_mover(rng, 40 + n, rng.uniform(-9, 12), volume) for n, volume in enumerate(volumes)],
    }


INSIDER_KEYS = (
    "transaction_date", "ticker", "executive", "executive_title", "security_type", "acquisition_or_disposal", "shares",
    "share_price",
)  # fmt: skip
_INSIDERS = (("EXAMPLE, JORDAN A", "Director"), ("SAMPLE, CASEY", "Chief Executive Officer"),
             ("PLACEHOLDER, MORGAN B", "Chief Financial Officer"),
             ("MOCK, RILEY", "Senior Vice President"))  # fmt: skip
INSIDER_YEARS = 6


def _insiders(request: ApiRequest) -> Document:
    """Return the transactions of the last years, newest first. A grant has no price, which is written 0.0."""
    symbol = request.text("symbol").upper()
    since = request.text("from")
    prices = {bar.label: bar.close for bar in unadjusted_bars(symbol, request.today)}
    rng = SeededRandom("insiders", symbol)
    rows = []
    for day in reversed(list(prices)[-252 * INSIDER_YEARS :]):
        if not SeededRandom("insider day", symbol, day).chance(0.08) or day < since:
            continue
        executive, title = rng.choice(_INSIDERS)
        kind = rng.choice(("Common Stock", "Restricted Stock Unit", "Stock Option"))
        granted = kind == "Restricted Stock Unit"
        direction = "A" if granted or rng.chance(0.3) else "D"
        price = "0.0" if granted else str(prices[day])
        values = [day, symbol, executive, title, kind, direction, f"{rng.randint(50, 30_000)}.0", price]
        rows.append(dict(zip(INSIDER_KEYS, values, strict=True)))
    return {"data": rows}


HOLDING_KEYS = (
    "holder_name", "shares_held", "shares_changed", "shares_changed_percentage", "change_type", "last_reported",
)  # fmt: skip
HOLDERS = 60


def _institutions(request: ApiRequest) -> Document:
    """Return sixty made-up holders, the largest first, and the totals of the list."""
    symbol = request.text("symbol").upper()
    shares, last = shares_outstanding(symbol), reported_quarters(request.today)[-1]
    rng = SeededRandom("institutions", symbol)
    sizes = sorted((int(shares * 0.08 * rng.random() ** 4) + 1000 for _ in range(HOLDERS)), reverse=True)
    rows = []
    counts = {"increased": 0, "decreased": 0, "unchanged": 0}
    changed = dict.fromkeys(counts, 0)
    for index, held in enumerate(sizes, 1):
        kind = rng.choice(("increased", "increased", "decreased", "decreased", "unchanged"))
        change = {"increased": 1, "decreased": -1, "unchanged": 0}[kind] * int(held * rng.uniform(0.005, 0.09))
        counts[kind] += 1
        changed[kind] += abs(change) if change else held
        percent = f"{100 * change / (held - change):.2f}%"
        values = [f"EXAMPLE CAPITAL {index:02d}", str(held), str(change), percent, kind, last.isoformat()]
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

ENDPOINTS = (
    Endpoint(
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
        error_name="invalid_inputs_news",
    ),
    Endpoint(
        "EARNINGS_CALL_TRANSCRIPT",
        (SYMBOL, Parameter("quarter", required=True, pattern=r"\d{4}Q[1-4]")),
        _transcript,
        unknown_symbol=document_without_rows("symbol", "quarter", rows="transcript"),
    ),
    Endpoint("TOP_GAINERS_LOSERS", (ENTITLEMENT,), _movers, symbol=""),
    Endpoint(
        "INSIDER_TRANSACTIONS",
        (SYMBOL, Parameter("from", kind="date")),
        _insiders,
        unknown_symbol=document_without_rows(rows="data"),
    ),
    Endpoint("INSTITUTIONAL_HOLDINGS", (SYMBOL,), _institutions, unknown_symbol=empty_document),
)
