"""scikit-learn estimators that pay for what they learn: the same contract, public bounds, a stated loss.

>>> from lapwing.models import StandardScaler
>>> scaler = StandardScaler(epsilon=1, bounds=(0, 120)).fit([[34.0], [51.0], [29.0]])
>>> print(scaler.privacy_loss_)
ε = 1 (add_remove, per person)
"""

from lapwing.models.account import Account
from lapwing.models.scaling import StandardScaler

__all__ = ["Account", "StandardScaler"]
