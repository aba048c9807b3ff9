"""
Ask a language model, or any program
====================================

``closerthan ask`` puts questions to a program and writes its answers, which can be fitted like people's. closerthan
uses no network itself: the program could ask a language model, but here it measures how similar two words look.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

import closerthan as ct

folder = Path(tempfile.mkdtemp())

# %%
# The program reads one question per line, as JSON, and writes one answer per line. Replace the body of ``similarity`` by
# a request to your model.
program = folder / "program.py"
program.write_text("""
import difflib, json, sys

def similarity(one, other):
    return difflib.SequenceMatcher(None, one, other).ratio()

for line in sys.stdin:
    question = json.loads(line)
    answer = max(question["options"], key=lambda option: similarity(question["anchor"], option))
    print(json.dumps({"id": question["id"], "answer": answer}), flush=True)
""")

# %%
# The questions: a table with the columns anchor, left and right, such as ``closerthan questions`` writes. Here a model with
# random answers draws them, and the program is asked the same questions.
words = [
    "cat",
    "rat",
    "hat",
    "mat",
    "car",
    "cart",
    "chart",
    "house",
    "mouse",
    "horse",
    "nurse",
    "purse",
]
questions = ct.answers_from(
    [[float(number)] for number in range(len(words))],
    600,
    similarity="euclidean",
    temperature=1e6,
    names=words,
)
ct.files.write_comparisons(questions, folder / "questions.csv")

# %%
# In a terminal: ``closerthan ask questions.csv --command 'python program.py' --workers 2``
command = [sys.executable, "-m", "closerthan", "ask", str(folder / "questions.csv")]
command += ["--command", f"'{sys.executable}' '{program}'", "--workers", "2"]
command += ["--out", str(folder / "asked")]
done = subprocess.run(command, capture_output=True, text=True, check=True)
print(done.stdout.splitlines()[0])

# %%
# What was sent and received is recorded, line by line:
print(*(folder / "asked" / "record.jsonl").read_text().splitlines()[:2], sep="\n")

# %%
# The answers are fitted like those of people: words that look alike lie together.
answers = ct.read_comparisons(folder / "asked" / "answers.csv")
result = ct.embed(answers, loss="ste", seed=0, n_starts=4)
figure = result.plot()
