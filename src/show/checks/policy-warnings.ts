/** What the API server's check of the types in a ValidatingAdmissionPolicy says. */
interface PolicyTypeCheck {
  readonly name: string;
  /** Whether the policy has parameters (spec.paramKind). */
  readonly hasParams: boolean;
  /** status.typeChecking.expressionWarnings[].warning */
  readonly warnings: readonly string[];
}

const MAX_CHARACTERS = 200;
const UNKNOWN_PARAMS = "undeclared reference to 'params'";

/**
 * Whether the API server did not know the kind of the parameters when it checked the policy, because the custom resource was
 * just made. It does not check again until the policy changes, and the policy works (typechecking.go of
 * k8s.io/apiserver, 1.34 to 1.37).
 */
function isOfEarlyCheck(warning: string): boolean {
  const errors = warning.split('\n').filter((line) => line.includes('ERROR: '));
  return errors.length > 0 && errors.every((line) => line.includes(UNKNOWN_PARAMS));
}

/** The warnings of a policy that a person has to look at, each with the policy's name, cut to a length that fits a table. */
export function policyWarnings({ name, hasParams, warnings }: PolicyTypeCheck): readonly string[] {
  const real = warnings.filter((warning) => !(hasParams && isOfEarlyCheck(warning)));
  return real.map((warning) => `${name}: ${warning.slice(0, MAX_CHARACTERS)}`);
}
