"""What can be said of labelled data before anything is learned: the paper's 15 meta-features.

They are those of the paper's appendix on what makes a dataset learnable. It names them and says
in a line each what they are; where that leaves a choice, the literature that it cites has it:
Lorena et al., "How Complex is Your Classification Problem?", ACM Computing Surveys 52 (2019);
Reif et al., "Automatic classifier generation by meta-learning", Pattern Analysis and Applications
17 (2014); Abdelmessih et al., "Landmarking for meta-learning using RapidMiner" (2010).

The names are also those of the class statistics of the package coba (VowpalWabbit/coba), which
computes some of them differently: see `meta_features`.
"""

import warnings

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.decomposition import PCA
from sklearn.dummy import DummyClassifier
from sklearn.feature_selection import mutual_info_classif
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier

from bciigl.base.errors import BciiglError, shortened
from bciigl.labelled.rules import Labelled

NAMES = (
    "1nn_accuracy", "best_node_accuracy", "feature_onehot_count", "instance_per_feature",
    "class_entropy_N", "max_fisher_discrim", "max_single_feature_eff", "mutual_XY_info_mean",
    "naive_bayes_accuracy", "noise_signal_ratio", "pca_dims_95", "pca_top_1_percent",
    "n", "n_by_sqrt_k", "n_by_k",
)  # fmt: skip
"""As the paper calls them, in its order."""

# All but counts, shares of zeros and class entropy is measured on at most MOST_ROWS examples, drawn
# at random. Of wide data they are fewer, so that there are at most MOST_VALUES values, but never
# fewer than LEAST_ROWS.
MOST_ROWS, MOST_VALUES, LEAST_ROWS = 5_000, 5_000_000, 500
INFORMATION_COLUMNS = 1_000
"""Of wider data, information is measured in this many features, drawn at random."""
FOLDS = 5
BINS = 10
LEAST_INFORMATION = 1e-6
"""Nats. Less than this counts as this in the noise to signal ratio, which would have no end."""
LEAST_RANGE = 1e-9
"""Of features from 0 to 1: those that vary less in the examples of some folds do not vary there."""


def meta_features(data: Labelled, rng: np.random.Generator) -> dict[str, float]:
    """Return the 15 meta-features of labelled data by their names; all are finite.

    ======================== =====================================================================
    name                     what it is
    ======================== =====================================================================
    1nn_accuracy             share that have the label of the nearest example of other folds
    best_node_accuracy       share that a tree with one node gets right, the split with the highest
                             information gain
    feature_onehot_count     features with exactly two different values, whatever their coding
    instance_per_feature     features divided by examples (Lorena's T2): as the paper describes it,
                             the other way round than it is called
    class_entropy_N          entropy of the labels by that of as many equally frequent classes
                             (Lorena's C1)
    max_fisher_discrim       1 / (1 + max r), Lorena's F1, with r of a feature the sum of squares
                             between classes by that within them: from 0 where a feature alone
                             tells the classes apart, to 1
    max_single_feature_eff   share of values that are not zero: what the paper says it is. Lorena's
                             and coba's measure of this name is another one, F3, the share of
                             examples that the best feature leaves in doubt
    mutual_XY_info_mean      mean over features of their mutual information with the label, in nats
    naive_bayes_accuracy     share that Gaussian naive Bayes gets right
    noise_signal_ratio       (mean entropy of features - mean information) / mean information
    pca_dims_95              principal components that have 95 % of the variance (Lorena's m' of T3)
    pca_top_1_percent        share, from 0 to 1, of the variance that the first one has
    n, n_by_sqrt_k, n_by_k   examples; divided by the square root of classes; divided by classes
    ======================== =====================================================================

    Accuracies are shares of all examples in a cross-validation of 5 folds, in which classes are
    spread evenly, with each feature scaled to a range of 1 so that units do not matter to
    distances; coba has no folds for nearest neighbours, and features as they are. Principal
    components are of the features as they are, as in Lorena's. For entropy and information,
    features with more than 10 values are cut into 10 bins of nearly equal numbers; the estimate is
    the plain one from frequencies, which is too high where examples are few.
    """
    with warnings.catch_warnings():
        # scikit-learn asks whether labels with few examples each are numbers.
        warnings.filterwarnings("ignore", "The number of unique classes is greater", UserWarning)
        return dict(zip(NAMES, map(float, _measured(data, rng)), strict=True))


def _measured(data: Labelled, rng: np.random.Generator) -> tuple[float, ...]:
    shape = np.shape(data.features)
    if len(shape) != 2 or shape[0] < 2 or shape[1] < 1:
        raise BciiglError(
            f"{shortened(data.name)}: meta-features should have at least 2 examples with 1 feature "
            f"to be measured in, got an array of shape {shape}"
        )
    examples, features = shape
    rows = drawn_rows(examples, features, rng)
    sample, label = np.asarray(data.features[rows], float), data.label[rows]
    scaled = unit_range(sample)
    fold = folds_of(label, rng)
    entropy, information = feature_information(sample, label, rng)
    dimensions, top = components(sample)
    classes = len(data.classes)
    nearest = KNeighborsClassifier(1)
    node = DecisionTreeClassifier(criterion="entropy", max_depth=1, random_state=0)
    return (
        accuracy(nearest, scaled, label, fold),
        accuracy(node, scaled, label, fold),
        two_valued(data.features, sample),
        features / examples,
        _entropy(data.label) / np.log(classes) if classes > 1 else 0.0,
        fisher(scaled, label),
        np.count_nonzero(data.features) / (examples * features),
        information,
        accuracy(GaussianNB(), scaled, label, fold),
        max(entropy - information, 0) / max(information, LEAST_INFORMATION),
        dimensions,
        top,
        examples,
        examples / np.sqrt(classes),
        examples / classes,
    )


def drawn_rows(examples: int, features: int, rng: np.random.Generator) -> np.ndarray:
    """Return which examples are measured, in their order: all, unless there are too many."""
    most = min(MOST_ROWS, max(MOST_VALUES // features, LEAST_ROWS))
    if examples <= most:
        return np.arange(examples)
    return np.sort(rng.choice(examples, most, replace=False))


def unit_range(values: np.ndarray) -> np.ndarray:
    """Return columns from 0 to 1; of what does not vary, all 0."""
    # By the largest first: the range of very large numbers is not a number.
    largest = np.abs(values).max(axis=0)
    values = values / np.where(largest > 0, largest, 1)
    values = values - values.min(axis=0)
    span = values.max(axis=0)
    return values / np.where(span > 0, span, 1)


def folds_of(label: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return a fold for each example, with every class spread as evenly as it can be."""
    # Unlike scikit-learn's, these take classes with fewer examples than there are folds.
    order = rng.permutation(len(label))
    order = order[np.argsort(label[order], kind="stable")]
    fold = np.empty(len(label), int)
    fold[order] = np.arange(len(label)) % FOLDS
    return fold


def accuracy(
    model: ClassifierMixin, values: np.ndarray, label: np.ndarray, fold: np.ndarray
) -> float:
    """Return the share of examples that a classifier gets right which has not seen their fold.

    Where no feature varies in what it is fitted to, the most frequent class is guessed.
    """
    right = 0
    for each in np.unique(fold):
        test = fold == each
        known = values[~test]
        varies = np.ptp(known, axis=0).max() > LEAST_RANGE
        fitted = (model if varies else DummyClassifier()).fit(known, label[~test])
        right += np.sum(fitted.predict(values[test]) == label[test])
    return right / len(label)


def two_valued(features: np.ndarray, sample: np.ndarray) -> int:
    """Return how many features have exactly two different values."""
    # Those with more in a sample of the examples need not be looked at any further.
    extreme = (sample == sample.min(axis=0)) | (sample == sample.max(axis=0))
    candidates = np.flatnonzero(extreme.all(axis=0))
    return sum(len(np.unique(features[:, each])) == 2 for each in candidates)


def fisher(values: np.ndarray, label: np.ndarray) -> float:
    """Return Lorena's F1: 1 / (1 + the highest discriminant ratio of a feature)."""
    order = np.argsort(label, kind="stable")
    # Around 0: sums of squares are then as exact as they can be.
    values = (values - values.mean(axis=0))[order]
    _, first, count = np.unique(label[order], return_index=True, return_counts=True)
    means = np.add.reduceat(values, first, axis=0) / count[:, None]
    between = count @ means**2
    within = ((values - np.repeat(means, count, axis=0)) ** 2).sum(axis=0)
    # 1 / (1 + between / within), which has no trouble with classes that do not vary.
    varies = between + within > 0
    return float((within[varies] / (between + within)[varies]).min(initial=1.0))


def feature_information(
    values: np.ndarray, label: np.ndarray, rng: np.random.Generator
) -> tuple[float, float]:
    """Return means over features of their entropy and their information on the label, in nats."""
    if values.shape[1] > INFORMATION_COLUMNS:
        values = values[:, rng.choice(values.shape[1], INFORMATION_COLUMNS, replace=False)]
    binned = np.column_stack([_binned(column) for column in values.T])
    information = mutual_info_classif(binned, label, discrete_features=True)
    return float(np.mean([_entropy(column) for column in binned.T])), float(information.mean())


def _binned(column: np.ndarray) -> np.ndarray:
    # Mean ranks keep apart what is frequent, as zeros often are, from what is below and above it.
    values, code, count = np.unique(column, return_inverse=True, return_counts=True)
    if len(values) <= BINS:
        return code
    rank = (np.cumsum(count) - count / 2) / len(column)
    return np.floor(rank * BINS).astype(int)[code]


def components(values: np.ndarray) -> tuple[int, float]:
    """Return how many principal components have 95 % of the variance, and the first one's share."""
    largest = np.abs(values).max()
    # From the first example: features that do not vary are then 0, with nothing to round.
    values = values / (largest or 1)
    values = values - values[0]
    largest = np.abs(values).max()
    if largest == 0:
        return 0, 0.0
    values = values / largest
    # The covariance is the faster way for all but wide data, of which it would be too large. It is
    # exact for features around 0 only.
    solver = "covariance_eigh" if values.shape[1] <= values.shape[0] else "full"
    share = PCA(svd_solver=solver).fit(values - values.mean(axis=0)).explained_variance_ratio_
    return int(np.sum(np.cumsum(share) < 0.95)) + 1, float(share[0])


def _entropy(code: np.ndarray) -> float:
    share = np.bincount(code) / len(code)
    share = share[share > 0]
    return float(max(-(share * np.log(share)).sum(), 0.0))
