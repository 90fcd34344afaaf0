"""`lunora doctor`: looks for what would keep a project from running or from being deployed. It changes nothing."""

from lunorash.doctor.examine import Report, examine, examine_build, examine_deployment
from lunorash.doctor.finding import Finding, Level

__all__ = ["Finding", "Level", "Report", "examine", "examine_build", "examine_deployment"]
