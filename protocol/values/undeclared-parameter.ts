/** Why a parameter is refused that the flow does not declare. */
export function undeclaredParameter(name: string, declared: string[]): string {
  const takes = declared.length === 0 ? "the flow takes no parameters" : `the flow takes ${declared.join(", ")}`;
  return `parameter "${name}" is not declared; ${takes}`;
}
