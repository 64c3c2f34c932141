"""Requests for tools of five sources, and the tool that serves each. Written before the search was tried with them."""

from __future__ import annotations

from typing import NamedTuple


class Question(NamedTuple):
    """A request in a user's words, and the tools of which one must be found."""

    text: str
    tools: tuple[str, ...]


QUESTIONS = (
    Question("what time is it in Tokyo", ("clock__get_current_time",)),
    Question("convert 3 pm New York time to Vienna", ("clock__convert_time",)),
    Question("which customers live in London", ("crm__query",)),
    Question("how many shares does each customer hold", ("crm__query",)),
    Question("columns of the table with the holdings", ("crm__describe_table",)),
    Question("what tables does the customer database have", ("crm__list_tables",)),
    Question("list the animals in the shelter", ("shelter__list_pets",)),
    Question("add a new dog to the shelter", ("shelter__add_pet",)),
    Question("cities of Norway and their people", ("cities__cities", "cities__cities_as_text")),
    Question("latest price of a stock", ("GLOBAL_QUOTE",)),
    Question("dividends a company has paid", ("DIVIDENDS",)),
    Question("price of gold today", ("GOLD_SILVER_SPOT",)),
    Question("exchange rate from euro to dollar", ("CURRENCY_EXCHANGE_RATE",)),
    Question("news about a company", ("NEWS_SENTIMENT",)),
)
