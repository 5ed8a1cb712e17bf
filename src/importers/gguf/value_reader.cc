#include "importers/gguf/value_reader.h"

#include <algorithm>
#include <cmath>

namespace fettle::gguf {

Result<bool> ValueReader::Flag(std::string_view name, bool fallback) const {
  const Value* value = file_.Find(Key(name));
  if (value == nullptr) return fallback;
  const auto* flag = std::get_if<bool>(value);
  if (flag == nullptr) return InvalidModel("value '{}': expected true or false", Key(name));
  return *flag;
}

Result<int64_t> ValueReader::OfLayers(std::string_view name, std::optional<int64_t> fallback,
                                      int64_t low, int64_t high, int64_t layers,
                                      std::vector<int64_t>& each, bool may_differ) const {
  const std::vector<double>* listed = file_.Numbers(Key(name));
  if (listed == nullptr) {
    ASSIGN_OR_RETURN(const int64_t all, Int(name, fallback, low, high));
    each.assign(layers, all);
    return all;
  }
  if (std::ssize(*listed) != layers)
    return InvalidModel("value '{}': expected {} numbers, got {}", Key(name), layers,
                        listed->size());
  double most = 0;
  for (double one : *listed) {
    if (!(one >= 0 && one <= static_cast<double>(high) && one == std::floor(one)))
      return InvalidModel("value '{}': expected 0 to {}, got {}", Key(name), high, one);
    each.push_back(static_cast<int64_t>(one));
    if (one > 0 && most > 0 && one != most && !may_differ)
      return Unsupported("value '{}': layers of {} and {} differ", Key(name), most, one);
    most = std::max(most, one);
  }
  if (most < static_cast<double>(low))
    return InvalidModel("value '{}': expected at least {}", Key(name), low);
  return static_cast<int64_t>(most);
}

Result<std::vector<Xielu>> ValueReader::ReadXielus(int64_t layers) const {
  std::vector<Xielu> read(layers);
  const auto softplus = [](double x) { return std::log1p(std::exp(x)); };
  const auto each = [&](const std::string& name, double Xielu::*member) -> Status {
    const std::vector<double>* all = file_.Numbers("xielu." + name);
    double one = 0;
    if (all == nullptr) {
      ASSIGN_OR_RETURN(one, file_.Float("xielu." + name, {}));
    } else if (std::ssize(*all) != layers) {
      return InvalidModel("value 'xielu.{}': expected {} numbers", name, layers);
    }
    for (int64_t i = 0; i < layers; ++i) read[i].*member = all == nullptr ? one : (*all)[i];
    return OkStatus();
  };
  RETURN_IF_ERROR(each("alpha_p", &Xielu::positive));
  RETURN_IF_ERROR(each("alpha_n", &Xielu::negative));
  RETURN_IF_ERROR(each("beta", &Xielu::beta));
  RETURN_IF_ERROR(each("eps", &Xielu::epsilon));
  for (Xielu& one : read) {
    one.positive = softplus(one.positive);
    one.negative = one.beta + softplus(one.negative);
    if (!(std::isfinite(one.positive) && std::isfinite(one.negative) && std::isfinite(one.epsilon)))
      return InvalidModel("values 'xielu': not finite");
  }
  return read;
}

}  // namespace fettle::gguf
