// Which rules of thumb are worth a measurement on a device: a bandit that plays rules.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace fettle::tuner {

/// Learns how often the sets of a rule were faster than all that their slots had measured before.
/// Not synchronised.
class RuleBandit {
 public:
  /// A set that `rule` proposes was measured; `won`: it was faster, by what is worth having.
  void Tell(std::string_view rule, bool won);
  /// `rules`, each once, the most promising first: those that were never tried as they stand, then
  /// by the upper bound of their share of wins (UCB1).
  std::vector<std::string> Order(const std::vector<std::string>& rules) const;

  /// A line "RULE TRIES WINS" for each rule; Read skips other lines.
  std::string ToText() const;
  void Read(std::string_view text);

 private:
  struct Plays {
    long tries = 0, wins = 0;
  };
  double BoundOf(const std::string& rule) const;

  std::map<std::string, Plays, std::less<>> plays_;
  long all_ = 0;
};

}  // namespace fettle::tuner
