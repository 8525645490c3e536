"""What a linear classifier reaches that knows every label: the ceiling of all learners."""

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score
from sklearn.model_selection import PredefinedSplit, cross_val_predict
from sklearn.utils.validation import check_is_fitted, validate_data

from bciigl.base.registry import Specification
from bciigl.base.threads import one_thread
from bciigl.learn.interactions import InputError, Scaling, folds, run_codes


class SupervisedCeiling(ClassifierMixin, BaseEstimator):
    """The better of two linear classifiers that are told the right action of every context.

    Shrinkage discriminant analysis, which is best for Gaussian noise, or logistic regression, by
    accuracy on unseen runs. Contexts are centred by their own run's mean where `run` is given.

    Attributes
    ----------
    classes_ : array, (classes,)
        The labels.
    classifier_ : estimator
        The classifier chosen.

    Examples
    --------
    >>> import bciigl
    >>> train, truth = bciigl.simulate("number_guessing", trials=92).dataset.sessions["train"]
    >>> learner = bciigl.SupervisedCeiling().fit(train.context, truth.meant, run=train.run)
    >>> learner.score(train.context, truth.meant, run=train.run)
    1.0
    """

    def fit(
        self, context: np.ndarray, y: np.ndarray, *, run: np.ndarray | None = None
    ) -> "SupervisedCeiling":
        """Learn from contexts, (trials, features), and the label of each, `y`, (trials,)."""
        context, label = validate_data(self, context, y, dtype=float)
        self.classes_ = np.unique(label)
        if len(self.classes_) < 2:
            raise InputError(f"there must be 2 classes or more, got 1 class: {self.classes_[0]}")
        runs = run_codes(run, len(context))
        self.context_scaling_ = Scaling.of(context, runs)
        scaled = self.context_scaling_.apply(context, runs)
        with one_thread():
            self.classifier_ = _better(scaled, label, folds(runs)).fit(scaled, label)
        return self

    def predict(self, context: np.ndarray, *, run: np.ndarray | None = None) -> np.ndarray:
        """Return the label of each context, (trials,)."""
        return self._told("predict", context, run)

    def predict_proba(self, context: np.ndarray, *, run: np.ndarray | None = None) -> np.ndarray:
        """Return the probability of each of `classes_`, (trials, classes)."""
        return self._told("predict_proba", context, run)

    def score(self, context: np.ndarray, y: np.ndarray, *, run: np.ndarray | None = None) -> float:
        """Return the share of contexts whose label, `y`, is predicted."""
        return float(accuracy_score(y, self.predict(context, run=run)))

    def _told(self, method: str, context: np.ndarray, run: np.ndarray | None) -> np.ndarray:
        check_is_fitted(self)
        context = validate_data(self, context, dtype=float, reset=False)
        scaled = self.context_scaling_.check_and_apply(context, "context", run)
        return getattr(self.classifier_, method)(scaled)


def _better(context: np.ndarray, label: np.ndarray, fold: np.ndarray) -> BaseEstimator:
    """Return the classifier, not fitted, that is right more often about unseen folds."""
    lda = LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto")
    logistic = LogisticRegression(C=0.1, max_iter=200)
    member = label[:, None] == np.unique(label)
    if member.sum(axis=0).min() < 2:  # a covariance within such a class would be nothing
        return logistic
    learned_from = [member[fold != each].sum(axis=0) for each in np.unique(fold)]
    if np.min(learned_from) < 10:  # labels of a class: too few to choose by
        return lda
    given = {"X": context, "y": label, "cv": PredefinedSplit(fold)}
    return max(lda, logistic, key=lambda each: np.sum(cross_val_predict(each, **given) == label))


CEILING = Specification(
    "ceiling",
    SupervisedCeiling,
    "supervised, told the labels",
    "a supervised classifier that was told the options meant",
    told="label",
    style={"color": "black", "marker": "^", "linestyle": ":"},
)
