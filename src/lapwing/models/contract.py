"""Which of scikit-learn's own checks a private estimator fails on purpose, and why."""

from __future__ import annotations

_ERROR = "demands an error or a warning that depends on a value or on the number of rows"
_CLASSES = "expects as many classes as the rows happen to have; ours are public and stay the same"
_LISTS = "fits a list of rows with one pair of bounds, so the number of columns would be read from records"
_LEARNS = "demands a score on a few rows that no fit can promise at this epsilon"

EXPECTED_FAILED_CHECKS: dict[str, str] = {
    "check_dtype_object": _ERROR,
    "check_transformer_data_not_an_array": _LISTS,
    "check_estimators_empty_data_messages": _ERROR,
    "check_supervised_y_no_nan": _ERROR,
    "check_supervised_y_2d": _ERROR,
    "check_classifiers_regression_target": _ERROR,
    "check_classifiers_classes": _CLASSES,
    "check_decision_proba_consistency": _CLASSES,
    "check_classifiers_train": f"{_CLASSES}; {_LEARNS}",
    "check_classifiers_one_label": _LEARNS,
    "check_regressors_train": _LEARNS,
    "check_clustering": "expects a label for every row of the training data, which would not be private",
    "check_estimator_sparse_array": "picks estimators by the name StandardScaler and sets a parameter of another",
    "check_estimator_sparse_matrix": "picks estimators by the name StandardScaler and sets a parameter of another",
}
"""For `sklearn.utils.estimator_checks.check_estimator(…, expected_failed_checks=EXPECTED_FAILED_CHECKS)`."""
