#include "generation/choice_report.h"

#include <fmt/format.h>

#include "report/table.h"

namespace fettle::tools {

Json ChoiceJson(const language::TypeChoice& choice, Json budget) {
  Json compared = Json::array();
  const auto add = [&](const language::Assignment& of) {
    compared.push_back({{"name", of.name},
                        {"bytes", of.size.bytes},
                        {"bits", of.size.bits},
                        {"divergence", NumberJson(of.damage.divergence)},
                        {"perplexity", NumberJson(of.damage.perplexity)},
                        {"tokens_per_s", of.tokens_per_s}});
  };
  add(choice.chosen);
  for (const language::Assignment& uniform : choice.uniform) add(uniform);
  budget["tokens"] = choice.tokens;
  budget["perplexity_before"] = choice.perplexity;
  budget["compared"] = std::move(compared);
  return budget;
}

void PrintChoice(const language::TypeChoice& choice) {
  constexpr auto kRight = Table::Align::kRight;
  Table table({{"matrices"},
               {"size", kRight},
               {"bits", kRight},
               {"divergence", kRight},
               {"perplexity", kRight},
               {"tokens/s", kRight}});
  const auto add = [&](const std::string& name, const language::Assignment& of) {
    table.Row({name, HumanBytes(static_cast<double>(of.size.bytes)),
               fmt::format("{:.2f}", of.size.bits), fmt::format("{:.5f}", of.damage.divergence),
               fmt::format("{:.3f}", of.damage.perplexity),
               fmt::format("{:.1f}", of.tokens_per_s)});
  };
  add("chosen", choice.chosen);
  for (const language::Assignment& uniform : choice.uniform) add("all " + uniform.name, uniform);
  fmt::print("{}\non a text of {} tokens, on which the model has a perplexity of {:.3f}\n\n",
             table.ToString(), choice.tokens, choice.perplexity);
}

}  // namespace fettle::tools
