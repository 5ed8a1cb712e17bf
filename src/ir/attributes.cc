#include "ir/attributes.h"

#include <algorithm>

namespace fettle::ir {
namespace {

template <typename T>
T Get(const Attribute* attribute, T fallback) {
  if (attribute == nullptr) return fallback;
  const T* value = std::get_if<T>(attribute);
  return value == nullptr ? fallback : *value;
}

}  // namespace

Attributes::Attributes() = default;
Attributes::Attributes(const Attributes& other) = default;
Attributes::Attributes(Attributes&& other) noexcept = default;
Attributes& Attributes::operator=(const Attributes& other) = default;
Attributes& Attributes::operator=(Attributes&& other) noexcept = default;
Attributes::~Attributes() = default;

Attributes::Attributes(std::initializer_list<std::pair<std::string, Attribute>> items) {
  for (const auto& [name, value] : items) Set(name, value);
}

const Attribute* Attributes::Find(std::string_view name) const {
  const auto it =
      std::lower_bound(items_.begin(), items_.end(), name,
                       [](const auto& item, std::string_view key) { return item.first < key; });
  return it != items_.end() && it->first == name ? &it->second : nullptr;
}

void Attributes::Set(std::string_view name, Attribute value) {
  const auto it =
      std::lower_bound(items_.begin(), items_.end(), name,
                       [](const auto& item, std::string_view key) { return item.first < key; });
  if (it != items_.end() && it->first == name) {
    it->second = std::move(value);
  } else {
    items_.insert(it, {std::string(name), std::move(value)});
  }
}

void Attributes::Erase(std::string_view name) {
  std::erase_if(items_, [&](const auto& item) { return item.first == name; });
}

int64_t Attributes::Int(std::string_view name, int64_t fallback) const {
  return Get<int64_t>(Find(name), fallback);
}

double Attributes::Float(std::string_view name, double fallback) const {
  return Get<double>(Find(name), fallback);
}

std::string Attributes::Text(std::string_view name, std::string_view fallback) const {
  return Get<std::string>(Find(name), std::string(fallback));
}

std::vector<int64_t> Attributes::Ints(std::string_view name, std::vector<int64_t> fallback) const {
  return Get<std::vector<int64_t>>(Find(name), std::move(fallback));
}

std::vector<double> Attributes::Floats(std::string_view name) const {
  return Get<std::vector<double>>(Find(name), {});
}

std::vector<std::string> Attributes::Texts(std::string_view name) const {
  return Get<std::vector<std::string>>(Find(name), {});
}

std::shared_ptr<const Graph> Attributes::SubGraph(std::string_view name) const {
  return Get<std::shared_ptr<const Graph>>(Find(name), nullptr);
}

}  // namespace fettle::ir
