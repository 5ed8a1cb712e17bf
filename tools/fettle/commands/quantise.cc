// fettle quantise: from a network in fp32 and data to one of integers.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "commands/command.h"
#include "generation/quantise_gguf.h"
#include "jobs/interrupt.h"
#include "options/checks.h"
#include "quantisation/quantisation.h"
#include "report/report.h"
#include "report/table.h"
#include "report/terminal.h"

namespace fettle::tools {
namespace {

using quantise::LayerReport;
using quantise::Loss;

constexpr size_t kListedLayers = 15;

Json DecibelJson(const std::optional<double>& decibels) {
  return decibels ? NumberJson(*decibels) : Json(nullptr);
}

Json LossJson(const Loss& loss) {
  return {{"sqnr_db", NumberJson(loss.sqnr_db)},
          {"max_abs", NumberJson(loss.max_abs)},
          {"top1", loss.top1 ? Json(*loss.top1) : Json(nullptr)}};
}

Json TimeJson(const std::optional<double>& ms) { return ms ? Json(*ms) : Json(nullptr); }

Json KeptJson(quantise::Kept kept) {
  switch (kept) {
    case quantise::Kept::kNone: return nullptr;
    case quantise::Kept::kValues: return "values";
    case quantise::Kept::kBudget: return "budget";
    case quantise::Kept::kSpeed: return "speed";
  }
  return nullptr;
}

Json FiguresJson(const ModelFigures& figures) {
  return {{"bytes", figures.bytes}, {"ms", figures.ms}};
}

Json Document(const QuantisationOptions& options, const Quantisation& done) {
  const quantise::QuantiseResult& result = done.result;
  Json layers = Json::array();
  for (const LayerReport& layer : result.layers)
    layers.push_back({{"node", layer.name},
                      {"op", layer.op},
                      {"quantised", layer.quantised},
                      {"weight_sqnr_db", DecibelJson(layer.weight_sqnr_db)},
                      {"sqnr_db", DecibelJson(layer.sqnr_db)},
                      {"kept_by", KeptJson(layer.kept)},
                      {"fp32_ms", TimeJson(layer.times.plain)},
                      {"int8_ms", TimeJson(layer.times.quantised)}});
  return {{"model", options.model},
          {"output", options.output},
          {"samples", done.samples},
          {"before", FiguresJson(done.before)},
          {"after", FiguresJson(done.after)},
          {"within_budget", FiguresJson(done.within_budget)},
          {"for_size", options.for_size},
          {"loss", LossJson(result.loss)},
          {"full_loss", LossJson(result.full_loss)},
          {"budget", {{"min_sqnr_db", options.min_sqnr_db}, {"min_top1", options.min_top1}}},
          {"ranges", options.ranges},
          {"activations", options.activations},
          {"equalised_pairs", result.equalised_pairs},
          {"bias_corrected", result.bias_corrected},
          {"quantised_layers", result.quantised_layers()},
          {"layers", std::move(layers)},
          {"seconds", done.seconds},
          {"device", DeviceJson(done.threads)},
          {"precision", PrecisionJson(options.common)},
          {"warnings", done.warnings}};
}

std::string DecibelText(const std::optional<double>& decibels) {
  if (!decibels) return "-";
  return std::isfinite(*decibels) ? fmt::format("{:.1f}", *decibels) : "exact";
}

std::string TimeText(const std::optional<double>& ms) {
  return ms ? fmt::format("{:.3f}", *ms) : "-";
}

std::string BecomesText(quantise::Kept kept) {
  switch (kept) {
    case quantise::Kept::kNone: return "int8";
    case quantise::Kept::kValues: return "fp32";
    case quantise::Kept::kBudget: return "fp32: loss";
    case quantise::Kept::kSpeed: return "fp32: speed";
  }
  return "";
}

/// The most sensitive layers first.
std::string LayerTable(const std::vector<LayerReport>& all) {
  std::vector<LayerReport> layers = all;
  std::ranges::stable_sort(layers, {},
                           [](const LayerReport& layer) { return layer.sqnr_db.value_or(0); });
  if (layers.size() > kListedLayers) layers.resize(kListedLayers);
  constexpr auto kRight = Table::Align::kRight;
  Table table({{"layer"},
               {.title = "operator", .leaves = 1},
               {"weights dB", kRight},
               {"outputs dB", kRight},
               {"fp32 ms", kRight},
               {"int8 ms", kRight},
               {"becomes"}});
  for (const LayerReport& layer : layers)
    table.Row({layer.name, layer.op, DecibelText(layer.weight_sqnr_db), DecibelText(layer.sqnr_db),
               TimeText(layer.times.plain), TimeText(layer.times.quantised),
               BecomesText(layer.kept)});
  return table.ToString();
}

void PrintTables(const QuantisationOptions& options, const Quantisation& done) {
  const quantise::QuantiseResult& result = done.result;
  const size_t listed = std::min(kListedLayers, result.layers.size());
  fmt::print("{}\n{}",
             Fit(fmt::format("each layer quantised alone, the {} most sensitive of {}:", listed,
                             result.layers.size())),
             LayerTable(result.layers));
  constexpr auto kRight = Table::Align::kRight;
  Table table({{""}, {"size", kRight}, {"ms", kRight}, {"SQNR dB", kRight}, {"top 1", kRight}});
  const auto row = [&](const std::string& name, const ModelFigures& figures,
                       const std::string& sqnr, std::optional<double> top1) {
    table.Row({name, HumanBytes(static_cast<double>(figures.bytes)),
               fmt::format("{:.3f}", figures.ms), sqnr,
               top1 ? fmt::format("{:.1f} %", 100 * *top1) : "-"});
  };
  row("before", done.before, "-", {});
  if (result.layers_kept(quantise::Kept::kSpeed) > 0)
    row("all in int8", done.within_budget, "-", {});
  row("after", done.after, DecibelText(result.loss.sqnr_db), result.loss.top1);
  const double smaller =
      static_cast<double>(done.before.bytes) / static_cast<double>(done.after.bytes);
  table.Row(
      {"ratio", fmt::format("{:.2f}", smaller), fmt::format("{:.2f}", 1 / done.ratio), "", ""});
  fmt::print("\n{}\n", table.ToString());
  PrintParts(
      {fmt::format("{} of {} in int8", result.quantised_layers(),
                   Count(std::ssize(result.layers), "layer")),
       fmt::format("all of them: {} dB", DecibelText(result.full_loss.sqnr_db)),
       fmt::format("{} equalised", Count(static_cast<int64_t>(result.equalised_pairs), "pair")),
       fmt::format("biases {}", result.bias_corrected ? "corrected" : "as they were"),
       Count(static_cast<int64_t>(done.samples), "sample"), fmt::format("{:.1f} s", done.seconds)});
  PrintParts({options.output, DeviceLine(done.threads), PrecisionLine(options.common)});
}

/// Why nothing was written.
Status OverBudget(const QuantisationOptions& options, const Quantisation& done) {
  double best = 0;
  for (const LayerReport& layer : done.result.layers)
    best = std::max(best, layer.sqnr_db.value_or(0));
  return Unsupported(
      "{}: no layer can be quantised within the budget ({} dB, top 1 {:g} %); the "
      "least sensitive one alone leaves {:.1f} dB",
      options.model, options.min_sqnr_db, 100 * options.min_top1, best);
}

int Quantise(const QuantisationOptions& options) {
  InstallLog(options.common.log);
  StartInterruptThread();
  const auto done = QuantiseFile(options);
  if (!done.ok()) return Fail(done.status());
  PrintWarnings(done->warnings);
  if (done->result.bytes.empty()) return Fail(OverBudget(options, *done), kExitDiffers);
  if (options.common.json) {
    PrintJson(Document(options, *done));
  } else {
    PrintTables(options, *done);
  }
  return kExitOk;
}

/// Options that belong to the other kind of model are refused.
int QuantiseEither(const CLI::App& sub, const QuantisationOptions& options,
                   GgufQuantisation& language) {
  const bool gguf = IsGgufFile(options.model);
  constexpr const char* kOfNetworks[] = {"--data",     "--samples",         "--activations",
                                         "--ranges",   "--percentile",      "--weight-bits",
                                         "--equalise", "--bias-correction", "--for-size",
                                         "--min-sqnr", "--min-top1",        "--sensitivity"};
  for (const char* name : kOfNetworks) {
    if (gguf && sub.count(name) > 0)
      return FailUsage(fmt::format(
          "{}: for .onnx files only; a .gguf file takes --bits, --perplexity or --type", name));
  }
  for (const char* name : {"--type", "--bits", "--perplexity", "--text", "--tokens"}) {
    if (!gguf && sub.count(name) > 0)
      return FailUsage(fmt::format("{}: for .gguf files only", name));
    if (sub.count(name) > 0 && sub.count("--type") > 0 && name != std::string("--type"))
      return FailUsage(fmt::format("{}: not with --type", name));
  }
  if (language.bits > 0 && !language.perplexity.empty())
    return FailUsage("--perplexity: not with --bits");
  if (gguf && language.type.empty() && language.bits == 0 && language.perplexity.empty())
    return FailUsage("--bits, --perplexity or --type is required for a .gguf file");
  if (!gguf && options.data.empty()) return FailUsage("--data is required for an .onnx file");
  if (!gguf) return Quantise(options);
  language.common = options.common;
  language.model = options.model;
  language.output = options.output;
  return QuantiseGguf(language);
}

void AddMethods(CLI::App& sub, QuantisationOptions& options) {
  const auto switches = OneOf({"auto", "on", "off"});
  sub.add_option("--activations", options.activations, "type of activations (default u8)")
      ->check(OneOf({"u8", "i8"}));
  sub.add_option("--ranges", options.ranges, "how ranges follow from the data (default mse)")
      ->check(OneOf(quantise::RangeMethodNames()));
  sub.add_option(
         "--percentile", options.percentile,
         "with --ranges percentile: the share of values within the range, in % (default 99.99)")
      ->check(Between(50.0, 100.0));
  sub.add_option("--weight-bits", options.weight_bits,
                 "bits of weights (default 8); 7 avoids overflow on CPUs that add products in 16 "
                 "bits (AVX2 without VNNI)")
      ->check(OneOf({"7", "8"}));
  sub.add_option("--equalise", options.equalisation,
                 "make the ranges of channels equal between layers (default auto: where it gains)")
      ->check(switches);
  sub.add_option(
         "--bias-correction", options.bias_correction,
         "subtract the mean error of rounded weights from biases (default auto: where it gains)")
      ->check(switches);
}

void AddBudget(CLI::App& sub, QuantisationOptions& options) {
  sub.add_flag("--for-size", options.for_size,
               "also quantise layers that are slower in int8 on this device; the result is then "
               "the same on every machine");
  sub.add_option("--min-sqnr", options.min_sqnr_db,
                 "the least signal to noise ratio of the outputs, in dB; layers stay in fp32 until "
                 "it holds (default 20)")
      ->check(Between(0.0, 1000.0));
  sub.add_option(
         "--min-top1", options.min_top1,
         "the smallest share of samples whose largest output stays the same, 0 to 1 (default 0)")
      ->check(Between(0.0, 1.0));
  sub.add_option(
         "--sensitivity", options.sensitivity,
         "samples to measure each layer alone with; 0: only where the budget needs it (default 4)")
      ->check(Between(0, 1000000));
}

void AddLanguage(CLI::App& sub, GgufQuantisation& language) {
  sub.add_option("--type", language.type,
                 "for a .gguf file: the type of all matrices, such as q4_0, q4_k or q8_0");
  sub.add_option("--bits", language.bits,
                 "for a .gguf file: the most bits per weight on average; each matrix gets the "
                 "type that changes the answers least (default: none)")
      ->check(Between(1.0, 32.0));
  sub.add_option("--perplexity", language.perplexity,
                 "for a .gguf file: +X%, by how much perplexity may grow; the file becomes as "
                 "small as that allows (default: none)")
      ->check(CheckGrowth);
  sub.add_option("--text", language.text,
                 "with --bits or --perplexity: a text to measure on (default: the model's own)");
  sub.add_option("--tokens", language.tokens,
                 "with --bits or --perplexity: the most tokens of that text (default 512)")
      ->check(Between(2, 1 << 16));
}

}  // namespace

void RegisterQuantise(CLI::App& app, Action& action) {
  auto options = std::make_shared<QuantisationOptions>();
  auto language = std::make_shared<GgufQuantisation>();
  CLI::App* sub = app.add_subcommand(
      "quantise",
      "quantise a model: a network to int8 by example data, a language model to few bits");
  sub->add_option("MODEL", options->model, "an .onnx or .gguf file")->required();
  sub->add_option("--data", options->data,
                  "[NAME=]PATH...: example inputs, as pictures, .npy, .pb, or folders of them; "
                  "required for an .onnx file")
      ->take_all()
      ->expected(1, -1);
  sub->add_option("-o,--output", options->output, "the file to write, of the model's kind")
      ->required();
  AddLanguage(*sub, *language);
  sub->add_option("--samples", options->samples,
                  "the most samples to use, chosen by --seed (default 64)")
      ->check(Between(1, 1000000));
  sub->add_option("--preprocess", options->preprocess,
                  "how pictures become numbers: 0 to 255 (none), 0 to 1 (unit, the default), "
                  "normalised as for ImageNet, or the luma alone (y)")
      ->envname("FETTLE_PREPROCESS")
      ->check(OneOf({"none", "unit", "imagenet", "y"}));
  AddMethods(*sub, *options);
  AddBudget(*sub, *options);
  AddCommonOptions(*sub, options->common);
  sub->callback([&action, options, language, sub] {
    action = [options, language, sub] { return QuantiseEither(*sub, *options, *language); };
  });
}

}  // namespace fettle::tools
