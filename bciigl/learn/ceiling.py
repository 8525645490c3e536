"""What a linear classifier reaches that knows every label: the ceiling of all learners."""

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score
from sklearn.model_selection import PredefinedSplit, cross_val_predict
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from bciigl.base.registry import Specification
from bciigl.base.threads import one_thread
from bciigl.learn.interactions import InputError, Scaling, folds, run_codes

# With fewer labels of a class there is nothing to choose a classifier by.
FEWEST_LABELS = 10


class SupervisedCeiling(ClassifierMixin, BaseEstimator):
    """The better of two linear classifiers that are told the right action of every context.

    Shrinkage discriminant analysis, which is best for Gaussian noise, or logistic regression,
    chosen by their accuracy on runs they have not seen.

    Attributes
    ----------
    classes_ : array
        The labels.
    classifier_ : estimator
        The classifier chosen.
    """

    def fit(
        self, context: np.ndarray, y: np.ndarray, *, run: np.ndarray | None = None
    ) -> "SupervisedCeiling":
        """Learn from contexts and the right action of each.

        Parameters
        ----------
        context : array, (trials, features)
        y : array, (trials,)
            The label; it has the name that scikit-learn looks for.
        run : array, (trials,), optional
            The run of each trial; each run's contexts are then centred by their own mean.
        """
        context, label = validate_data(self, context, y, dtype=float)
        check_classification_targets(label)
        self.classes_, code = np.unique(label, return_inverse=True)
        if len(self.classes_) < 2:
            raise InputError(f"there must be 2 classes or more, got 1 class: {self.classes_[0]}")
        runs = run_codes(run, len(context))
        self.context_scaling_ = Scaling.of(context, runs)
        scaled = self.context_scaling_.apply(context, runs)
        with one_thread():
            self.classifier_ = _better(scaled, code, folds(runs)).fit(scaled, code)
        return self

    def predict(self, context: np.ndarray, *, run: np.ndarray | None = None) -> np.ndarray:
        """Return the label of each context, (trials,).

        Contexts are centred by the training mean, or by each run's own where `run` is given.
        """
        scaled = self._scaled(context, run)
        return self.classes_[self.classifier_.predict(scaled)]

    def predict_proba(self, context: np.ndarray, *, run: np.ndarray | None = None) -> np.ndarray:
        """Return the probability of each of `classes_`, (trials, classes); see `predict`."""
        scaled = self._scaled(context, run)
        return self.classifier_.predict_proba(scaled)

    def score(self, context: np.ndarray, y: np.ndarray, *, run: np.ndarray | None = None) -> float:
        """Return the share of contexts whose label, `y`, is predicted."""
        return float(accuracy_score(y, self.predict(context, run=run)))

    def _scaled(self, context: np.ndarray, run: np.ndarray | None) -> np.ndarray:
        check_is_fitted(self)
        context = validate_data(self, context, dtype=float, reset=False)
        runs = None if run is None else run_codes(run, len(context))
        return self.context_scaling_.apply(context, runs)


CEILING = Specification(
    "ceiling",
    SupervisedCeiling,
    "supervised, told the labels",
    "a supervised classifier that was told the options meant",
    told="label",
    style={"color": "black", "marker": "^", "linestyle": ":"},
)


def _better(context: np.ndarray, label: np.ndarray, fold: np.ndarray) -> BaseEstimator:
    """Return the classifier, not fitted, that is right more often about unseen folds."""
    candidates = (
        LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto"),
        LogisticRegression(C=0.1, max_iter=200),
    )
    classes = np.bincount(label)
    if classes.min() < 2:  # a covariance within such a class would be nothing
        return candidates[1]
    own = [np.bincount(label[fold == each], minlength=len(classes)) for each in np.unique(fold)]
    if min((classes - each).min() for each in own) < FEWEST_LABELS:
        return candidates[0]
    given = context, label
    unseen = [cross_val_predict(each, *given, cv=PredefinedSplit(fold)) for each in candidates]
    return candidates[int(np.argmax([np.sum(each == label) for each in unseen]))]
