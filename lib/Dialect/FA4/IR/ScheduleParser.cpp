//===- ScheduleParser.cpp - reading #fa4.schedule -------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The custom syntax exists because a schedule is written by people: step lists,
// homes and roles read as tables, and clauses may stand in any order.
//
//===----------------------------------------------------------------------===//

#include "ScheduleSyntax.h"
#include "fa4/Dialect/FA4/IR/FA4Attributes.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace fa4;

namespace {
/// One reader per clause; `clauses()` below is the table of them.
class ScheduleParser {
public:
  explicit ScheduleParser(AsmParser &parser) : parser(parser) {}
  FailureOr<Schedule> parse();

private:
  using Reader = ParseResult (ScheduleParser::*)();
  struct ClauseReader {
    StringLiteral name;
    Reader read;
    /// What leaving it out leaves open; 0: nothing.
    uint32_t open = 0;
  };
  static ArrayRef<ClauseReader> clauses();
  void leaveOpen(const llvm::StringSet<> &seen);

  template <class Enum, size_t N>
  ParseResult parseEnum(const EnumName<Enum> (&names)[N], Enum &value, StringRef what);
  template <class Enum, size_t N>
  ParseResult matchEnum(SMLoc loc, StringRef word, const EnumName<Enum> (&names)[N], Enum &value,
                        StringRef what);
  ParseResult parseName(std::string &name);
  ParseResult parseNames(std::vector<std::string> &names, AsmParser::Delimiter delimiter);
  ParseResult parseChannelHalf(std::string &channel, ChannelHalf &half);
  ParseResult parseRole(Role &role);

  ParseResult readTile();
  ParseResult readStages() { return parser.parseInteger(plan.stages); }
  ParseResult readCtas() { return parser.parseInteger(plan.ctas); }
  ParseResult readWork();
  ParseResult readOrder();
  ParseResult readHomes();
  ParseResult readRoles();
  ParseResult readSplitP();
  ParseResult readRescale();
  ParseResult readExp2();
  ParseResult readGrain();
  ParseResult readVia();
  ParseResult readEarlyAcquire() {
    return parseNames(plan.earlyAcquire, AsmParser::Delimiter::Square);
  }
  ParseResult readStagger() { return parseNames(plan.stagger, AsmParser::Delimiter::Square); }
  ParseResult readTurn() { return parseNames(plan.turn, AsmParser::Delimiter::Square); }
  ParseResult readReduceColumns() { return parser.parseInteger(plan.reduceColumns.emplace()); }
  ParseResult readReduceDepth() { return parser.parseInteger(plan.reduceDepth.emplace()); }

  AsmParser &parser;
  Schedule plan;
};
} // namespace

//===----------------------------------------------------------------------===//
// Parsing
//===----------------------------------------------------------------------===//

template <class Enum, size_t N>
ParseResult ScheduleParser::matchEnum(SMLoc loc, StringRef word, const EnumName<Enum> (&names)[N],
                                      Enum &value, StringRef what) {
  for (const EnumName<Enum> &entry : names) {
    if (entry.name == word) {
      value = entry.value;
      return success();
    }
  }
  InFlightDiagnostic diag = parser.emitError(loc, "expected ") << what << " to be one of ";
  llvm::interleaveComma(names, diag, [&](const EnumName<Enum> &entry) { diag << entry.name; });
  return diag << ", but got '" << word << "'";
}

template <class Enum, size_t N>
ParseResult ScheduleParser::parseEnum(const EnumName<Enum> (&names)[N], Enum &value,
                                      StringRef what) {
  SMLoc loc = parser.getCurrentLocation();
  StringRef word;
  return failure(parser.parseKeyword(&word) || matchEnum(loc, word, names, value, what));
}

ParseResult ScheduleParser::parseName(std::string &name) {
  StringRef word;
  if (parser.parseKeyword(&word)) {
    return failure();
  }
  name = word.str();
  return success();
}

ParseResult ScheduleParser::parseNames(std::vector<std::string> &names,
                                       AsmParser::Delimiter delimiter) {
  return parser.parseCommaSeparatedList(delimiter, [&]() -> ParseResult {
    std::string &name = names.emplace_back();
    if (parseName(name)) {
      return failure();
    }
    if (succeeded(parser.parseOptionalStar())) {
      name += '*';
    }
    return success();
  });
}

/// `pb.full` is one word to MLIR's lexer.
ParseResult ScheduleParser::parseChannelHalf(std::string &channel, ChannelHalf &half) {
  SMLoc loc = parser.getCurrentLocation();
  std::string word;
  if (parseName(word)) {
    return failure();
  }
  auto [name, side] = StringRef(word).rsplit('.');
  channel = name.str();
  return matchEnum(loc, side, halfNames, half, "the half of a channel");
}

ParseResult ScheduleParser::readTile() {
  return failure(parser.parseInteger(plan.tileRows) || parser.parseKeyword("x") ||
                 parser.parseInteger(plan.tileColumns));
}

ParseResult ScheduleParser::readWork() {
  if (parseEnum(workNames, plan.work, "work")) {
    return failure();
  }
  if (failed(parser.parseOptionalLess())) {
    return success();
  }
  return failure(parseEnum(workOrderNames, plan.workOrder, "the order of work") ||
                 parser.parseGreater());
}

ParseResult ScheduleParser::readOrder() {
  return parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, [&]() -> ParseResult {
    OrderEntry &entry = plan.order.emplace_back();
    if (parseName(entry.step.name)) {
      return failure();
    }
    if (succeeded(parser.parseOptionalLSquare()) &&
        (parser.parseInteger(entry.step.index.emplace()) || parser.parseRSquare())) {
      return failure();
    }
    return failure(parser.parseKeyword("at") || parser.parseInteger(entry.stage));
  });
}

ParseResult ScheduleParser::readHomes() {
  return parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, [&]() -> ParseResult {
    Home &home = plan.homes.emplace_back();
    SMLoc loc = parser.getCurrentLocation();
    std::string word;
    if (parseName(word) || parser.parseEqual() || parseEnum(homeNames, home.space, "a home")) {
      return failure();
    }
    auto [step, result] = StringRef(word).split('.');
    home.step = step.str();
    if (!result.empty() && result.getAsInteger(10, home.result.emplace())) {
      return parser.emitError(loc, "expected the result of a step to be a number, but got '")
             << word << "'";
    }
    if (home.space == HomeSpace::Registers) {
      return success();
    }
    StringAttr symbol;
    if (parser.parseSymbolName(symbol)) {
      return failure();
    }
    home.allocation = symbol.str();
    if (succeeded(parser.parseOptionalKeyword("x")) && parser.parseInteger(home.slots)) {
      return failure();
    }
    if (succeeded(parser.parseOptionalKeyword("column")) &&
        parser.parseInteger(home.column.emplace())) {
      return failure();
    }
    if (succeeded(parser.parseOptionalKeyword("as"))) {
      return parseName(home.name);
    }
    return success();
  });
}

ParseResult ScheduleParser::parseRole(Role &role) {
  if (parser.parseEqual() || parseNames(role.steps, AsmParser::Delimiter::Braces)) {
    return failure();
  }
  return success();
}

/// Roles are a table: the comma before a field and the one between roles may
/// both be left out, since a role starts with a name that no field has.
ParseResult ScheduleParser::readRoles() {
  if (parser.parseLSquare()) {
    return failure();
  }
  while (failed(parser.parseOptionalRSquare())) {
    SMLoc loc = parser.getCurrentLocation();
    std::string word;
    if (parseName(word)) {
      return failure();
    }
    const bool isField = word == "warps" || word == "regs" || word == "ctas";
    if (!isField) {
      plan.roles.emplace_back().name = word;
      if (parseRole(plan.roles.back())) {
        return failure();
      }
    } else if (plan.roles.empty()) {
      return parser.emitError(loc, "expected roles to start with a name, but got '") << word << "'";
    } else {
      Role &role = plan.roles.back();
      if (word == "regs") {
        if (parser.parseInteger(role.registers.emplace())) {
          return failure();
        }
      } else if (word == "ctas") {
        if (parseEnum(roleCtaNames, role.ctas, "the CTAs of a role")) {
          return failure();
        }
      } else if (parser.parseInteger(role.warps) ||
                 (succeeded(parser.parseOptionalKeyword("x")) &&
                  parser.parseInteger(role.replicas)) ||
                 parser.parseKeyword("at") || parser.parseInteger(role.firstWarp)) {
        return failure();
      }
    }
    (void)parser.parseOptionalComma();
  }
  return success();
}

ParseResult ScheduleParser::readSplitP() {
  return parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, [&] {
    return parser.parseInteger(plan.splitP.emplace_back());
  });
}

ParseResult ScheduleParser::readRescale() {
  if (succeeded(parser.parseOptionalKeyword("none"))) {
    return success();
  }
  return parser.parseFloat(plan.rescaleLog2Threshold.emplace());
}

ParseResult ScheduleParser::readExp2() {
  if (succeeded(parser.parseOptionalKeyword("none"))) {
    return success();
  }
  Exp2Share &share = plan.exp2.emplace();
  return failure(
      parser.parseLess() || parser.parseKeyword("degree") || parser.parseInteger(share.degree) ||
      parser.parseComma() || parser.parseKeyword("of") || parser.parseInteger(share.period) ||
      parser.parseKeyword("columns") || parser.parseKeyword("the") || parser.parseKeyword("last") ||
      parser.parseInteger(share.last) || parser.parseComma() || parser.parseKeyword("chunks") ||
      parser.parseInteger(share.firstChunk) || parser.parseKeyword("to") ||
      parser.parseInteger(share.lastChunk) || parser.parseGreater());
}

ParseResult ScheduleParser::readGrain() {
  return parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, [&] {
    GrainEntry &entry = plan.grain.emplace_back();
    return failure(parseChannelHalf(entry.channel, entry.half) || parser.parseEqual() ||
                   parseEnum(grainNames, entry.grain, "the grain of arrivals"));
  });
}

ParseResult ScheduleParser::readVia() {
  return parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, [&]() -> ParseResult {
    ViaEntry &entry = plan.via.emplace_back();
    if (parseChannelHalf(entry.channel, entry.half) || parser.parseEqual() ||
        parser.parseKeyword("named")) {
      return failure();
    }
    entry.perWarp = succeeded(parser.parseOptionalKeyword("per_warp"));
    return success();
  });
}

ArrayRef<ScheduleParser::ClauseReader> ScheduleParser::clauses() {
  constexpr auto bit = [](Clause clause) { return static_cast<uint32_t>(clause); };
  static constexpr ClauseReader table[] = {
      {"tile", &ScheduleParser::readTile},
      {"stages", &ScheduleParser::readStages, bit(Clause::Stages)},
      {"ctas", &ScheduleParser::readCtas, bit(Clause::Ctas)},
      {"work", &ScheduleParser::readWork, bit(Clause::Work)},
      {"order", &ScheduleParser::readOrder, bit(Clause::Order)},
      {"homes", &ScheduleParser::readHomes, bit(Clause::Homes)},
      {"roles", &ScheduleParser::readRoles, bit(Clause::Roles)},
      {"split_p", &ScheduleParser::readSplitP, bit(Clause::SplitP)},
      {"rescale_log2_threshold", &ScheduleParser::readRescale, bit(Clause::Rescale)},
      {"exp2", &ScheduleParser::readExp2, bit(Clause::Exp2)},
      {"grain", &ScheduleParser::readGrain, bit(Clause::Grain)},
      {"via", &ScheduleParser::readVia, bit(Clause::Via)},
      {"early_acquire", &ScheduleParser::readEarlyAcquire, bit(Clause::EarlyAcquire)},
      {"stagger", &ScheduleParser::readStagger, bit(Clause::Stagger)},
      {"turn", &ScheduleParser::readTurn, bit(Clause::Turn)},
      {"reduce_columns", &ScheduleParser::readReduceColumns},
      {"reduce_depth", &ScheduleParser::readReduceDepth},
  };
  return table;
}

/// Order, homes and roles make a plan: with them, what is not written is off. Without,
/// it is the planner's to choose.
void ScheduleParser::leaveOpen(const llvm::StringSet<> &seen) {
  if (plan.isWhole()) {
    return;
  }
  for (const ClauseReader &clause : clauses()) {
    plan.open |= seen.contains(clause.name) ? 0 : clause.open;
  }
}

FailureOr<Schedule> ScheduleParser::parse() {
  if (parser.parseLess() || parseEnum(directionNames, plan.direction, "the direction")) {
    return failure();
  }
  llvm::StringSet<> seen;
  while (succeeded(parser.parseOptionalComma())) {
    SMLoc loc = parser.getCurrentLocation();
    StringRef name;
    if (parser.parseKeyword(&name) || parser.parseEqual()) {
      return failure();
    }
    const ClauseReader *clause = llvm::find_if(
        clauses(), [&](const ClauseReader &candidate) { return candidate.name == name; });
    if (clause == clauses().end()) {
      return parser.emitError(loc, "expected a clause of #fa4.schedule, but got '") << name << "'";
    }
    if (!seen.insert(name).second) {
      return parser.emitError(loc, "expected each clause to be given once, but got '")
             << name << "' twice";
    }
    if ((this->*clause->read)()) {
      return failure();
    }
  }
  if (parser.parseGreater()) {
    return failure();
  }
  leaveOpen(seen);
  return plan;
}

Attribute ScheduleAttr::parse(AsmParser &parser, Type) {
  SMLoc loc = parser.getCurrentLocation();
  FailureOr<Schedule> plan = ScheduleParser(parser).parse();
  if (failed(plan)) {
    return {};
  }
  return parser.getChecked<ScheduleAttr>(loc, parser.getContext(), *plan);
}
