/// @file
/// @brief The reporter `results`: Catch2's XML for tests/exercise, which reads it from a file
/// (`--out`).
///
/// Catch2's own reporter `xml` keeps what a test prints until the test ends, so a crash would
/// swallow it. This one leaves standard output and standard error to the code under test, and hands
/// each line on as soon as it is complete.

#define CATCH_CONFIG_EXTERNAL_INTERFACES  // Catch2 2 declares its reporters only then
#include "catch.hpp"

#include <cstdio>
#include <string>
#include <utility>

class ResultsReporter : public Catch::XmlReporter {
 public:
  static std::string getDescription() { return "The XML that tests/exercise reads"; }

  template <class Config>
  explicit ResultsReporter(Config&& config) : XmlReporter(std::forward<Config>(config)) {
#if defined(CATCH_VERSION_MAJOR) && CATCH_VERSION_MAJOR >= 3
    m_preferences.shouldRedirectStdOut = false;
#else
    m_reporterPrefs.shouldRedirectStdOut = false;
#endif
    std::setvbuf(stdout, nullptr, _IOLBF, BUFSIZ);
  }
};

CATCH_REGISTER_REPORTER("results", ResultsReporter)
