"""What several tests share: requests and events, the SAM translator, a Lambda execution environment for the build.

No file here decides what toolfold should do; that is said in the tests.
"""
