exports.Builder = class {};
exports.Parser = class {};
