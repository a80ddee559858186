"""scikit-learn estimators with differential privacy: the same contract, public bounds, a stated loss.

>>> from lapwing.models import StandardScaler
>>> scaler = StandardScaler(epsilon=1, bounds=[(0, 120)]).fit([[34.0], [51.0], [29.0]])
>>> print(scaler.privacy_loss_)
ε = 1 (add_remove, per person)
"""

from lapwing.models.account import Account
from lapwing.models.contract import EXPECTED_FAILED_CHECKS
from lapwing.models.covariance import Covariance
from lapwing.models.feature_selection import SelectFeatures
from lapwing.models.forest import RandomForest
from lapwing.models.kmeans import KMeans
from lapwing.models.learning import (
    Conjunction,
    OccamLearner,
    Parity,
    Threshold,
    agnostic_sample_bound,
    conjunctions,
    occam_sample_bound,
    parities,
    thresholds,
)
from lapwing.models.linear import LinearRegression
from lapwing.models.logistic import LogisticRegression
from lapwing.models.mlp import MLPClassifier
from lapwing.models.naive_bayes import GaussianNB
from lapwing.models.parity import ParityLearner, parity_sample_bound
from lapwing.models.pca import PCA
from lapwing.models.quantiles import QuantileTransformer
from lapwing.models.queries import (
    MaskedParity,
    QueryOracle,
    learn_in_one_round,
    learn_in_two_rounds,
    one_round_ceiling,
)
from lapwing.models.quote import FitQuote
from lapwing.models.scaling import StandardScaler
from lapwing.models.scoring import CoinFolds, PrivateScore
from lapwing.models.search import PrivateGridSearch
from lapwing.models.sgd import SGDClassifier, SGDRegressor
from lapwing.models.trees import DecisionTree

__all__ = [
    "EXPECTED_FAILED_CHECKS",
    "PCA",
    "Account",
    "CoinFolds",
    "Conjunction",
    "Covariance",
    "DecisionTree",
    "FitQuote",
    "GaussianNB",
    "KMeans",
    "LinearRegression",
    "LogisticRegression",
    "MLPClassifier",
    "MaskedParity",
    "OccamLearner",
    "Parity",
    "ParityLearner",
    "PrivateGridSearch",
    "PrivateScore",
    "QuantileTransformer",
    "QueryOracle",
    "RandomForest",
    "SGDClassifier",
    "SGDRegressor",
    "SelectFeatures",
    "StandardScaler",
    "Threshold",
    "agnostic_sample_bound",
    "conjunctions",
    "learn_in_one_round",
    "learn_in_two_rounds",
    "occam_sample_bound",
    "one_round_ceiling",
    "parities",
    "parity_sample_bound",
    "thresholds",
]
