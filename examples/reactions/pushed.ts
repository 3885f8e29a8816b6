/**
 * A flow that is started by a push to a repository. In the settings of the repository's webhook: content type JSON, the URL
 * of this server with /in/github, and the secret that is set by
 *
 *     millrace variables set github-secret YOUR_SECRET --secret
 */
import { flow, hook, log, Type } from "millrace";

export const build = flow(
  "build",
  { parameters: Type.Object({ ref: Type.String(), commit: Type.String() }) },
  ({ ref, commit }) => {
    log.info("building %s of %s", commit, ref);
  },
);

interface Push {
  ref: string;
  after: string;
}

export const pushed = hook(
  "github",
  "/in/github",
  { secret: "github-secret", verify: "github" },
  async (payload, { headers }) => {
    if (headers.get("x-github-event") !== "push") return Response.json({ ignored: true });
    const { ref, after } = payload as Push;
    const run = await build.start({ ref, commit: after });
    return Response.json({ run: run.id }, { status: 202 });
  },
);
