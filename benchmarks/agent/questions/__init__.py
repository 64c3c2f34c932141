"""Everyday questions, the calls that a model writes for them at first, and the right answers.

The questions and the guesses were written down before it was tried which of them work. The newest trading day
of the mock API is 2026-01-13; a model knows the date from its own context.
"""

from benchmarks.agent.questions import comparisons, markets, others, stocks
from benchmarks.agent.questions.model import Call, Question

__all__ = ["QUESTIONS", "Call", "Question"]

QUESTIONS = (*stocks.QUESTIONS, *markets.QUESTIONS, *comparisons.QUESTIONS, *others.QUESTIONS)
