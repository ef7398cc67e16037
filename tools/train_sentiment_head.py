"""Train the sentiment head on frozen MiniLM features, build the model with it, and measure both on held-out texts.

Writes ``models/sentiment/head.json`` (read by ``build_sentiment.py``) and ``models/sentiment/report.json``.
The strength of the penalty is chosen by cross-validation inside the training texts; the evaluation texts are
scored once, at the end. Needs scikit-learn; takes about two minutes: ``python tools/train_sentiment_head.py``.
"""

from __future__ import annotations

import json
import sys
from typing import Any

import numpy as np
import numpy.typing as npt
from build_sentiment import OUTPUT, RECIPE, build, load_encoder, write_json
from fetch_sources import MINILM, fetch_all
from sentiment_data import NEUTRAL_BELOW, SEED, LabelledText, load_split
from sentiment_graph import WIDTH, Floats, Head, pooled_features
from sentiment_scores import accuracy, open_session, open_tokenizer, run_each, score_texts
from sentiment_variants import VARIANTS
from sklearn.feature_selection import VarianceThreshold
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GroupKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

PENALTIES = (0.0003, 0.001, 0.003, 0.01)
FOLDS = 5
DEAD_VARIANCE = 1e-6  # the living ones have 1e-3 and more
DECIMALS = 3  # keeps the file under 20 kB


def embed(texts: list[LabelledText]) -> Floats:
    """Features of each text from the float32 encoder."""
    session = open_session(pooled_features(load_encoder()).SerializeToString())
    tokenizer = open_tokenizer(MINILM / "tokenizer.json")
    return run_each(session, tokenizer, (text.text for text in texts))


def classifier(penalty: float) -> Any:
    """Logistic regression on standardised features, without the three that are dead (always 1e-30 or so).

    Scaling those up would make a model that any rounding of the encoder sends to infinity.
    """
    regression = LogisticRegression(C=penalty, max_iter=1000)
    return make_pipeline(VarianceThreshold(DEAD_VARIANCE), StandardScaler(), regression)


def choose_penalty(features: Floats, labels: npt.NDArray[np.int64], texts: list[LabelledText]) -> float:
    """The value of ``C`` with the best cross-validated accuracy; a document is never in two folds."""
    documents = [f"{text.source}/{text.document}" for text in texts]
    folds = GroupKFold(FOLDS, shuffle=True, random_state=SEED)
    means: dict[float, float] = {}
    for penalty in PENALTIES:
        scores = cross_val_score(classifier(penalty), features, labels, groups=documents, cv=folds)
        means[penalty] = float(scores.mean())
        print(f"C={penalty}: {means[penalty]:.4f} in cross-validation", flush=True)
    return max(PENALTIES, key=means.__getitem__)


def fit(features: Floats, labels: npt.NDArray[np.int64], penalty: float) -> Head:
    """Train on everything, and fold the standardisation into the weights."""
    model = classifier(penalty).fit(features, labels)
    alive, scaler, regression = model[0].get_support(), model[1], model[2]
    weights = np.zeros(features.shape[1])
    weights[alive] = np.round(regression.coef_[0] / scaler.scale_, DECIMALS)
    bias = float(regression.intercept_[0] - weights[alive] @ scaler.mean_)
    return Head(weights.astype(np.float32), round(bias, 4))


def write_head(head: Head) -> None:
    """Write ``head.json``, a row of weights for each layer."""
    rows = head.weights.reshape(-1, WIDTH).astype(np.float64).round(DECIMALS).tolist()
    lines = ",\n".join(json.dumps(row, separators=(",", ":")) for row in rows)
    (RECIPE / "head.json").write_text(f'{{"bias": {head.bias}, "weights": [\n{lines}\n]}}\n', encoding="utf-8")


def report(penalty: float) -> dict[str, Any]:
    """Accuracy of the built variants on the evaluation texts, and what is needed to read it."""
    texts = load_split("evaluation")
    names = [text.text for text in texts]
    scores = {name: score_texts(OUTPUT, name, names) for name in VARIANTS}
    sources = sorted({text.source for text in texts})
    positive = float(np.mean([text.label for text in texts]))
    return {
        "accuracy": {name: accuracy(mine, texts) for name, mine in scores.items()},
        "accuracy_by_source": {source: _on(source, scores["model_quantized"], texts) for source in sources},
        "majority_baseline": max(positive, 1 - positive),
        "texts": {split: len(load_split(split)) for split in ("train", "calibration", "evaluation")},
        "neutral_below": NEUTRAL_BELOW,
        "seed": SEED,
        "penalty_C": penalty,
    }


def _on(source: str, scores: Floats, texts: list[LabelledText]) -> float:
    chosen = np.array([text.source == source for text in texts])
    return round(accuracy(scores[chosen], [text for text in texts if text.source == source]), 4)


def main() -> int:
    """Train, build, measure."""
    fetch_all()
    texts = load_split("train")
    labels = np.array([text.label for text in texts], np.int64)
    features = embed(texts)
    penalty = choose_penalty(features, labels, texts)
    write_head(fit(features, labels, penalty))
    build(OUTPUT)
    figures = report(penalty)
    write_json(RECIPE / "report.json", figures)
    print(json.dumps(figures, indent=2))
    return 0


if __name__ == "__main__":
    sys.exit(main())
