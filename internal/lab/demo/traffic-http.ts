import { Agent, request } from 'node:https';

/** Who asks, and whom it trusts; PEM texts. */
export interface TrafficCredentials {
  readonly ca: string;
  readonly cert: string;
  readonly key: string;
}

/** One request of a steady client. */
export interface Call {
  readonly method: 'GET' | 'PATCH';
  readonly path: string;
  readonly body?: string;
}

/** An answer that was not a good one: the server is there, but not well. */
export class BadAnswerError extends Error {
  override readonly name = 'BadAnswerError';
}

/** One kept-alive agent per server. */
export function connect({ ca, cert, key }: TrafficCredentials) {
  const agents = new Map<string, Agent>();
  const close = () => {
    for (const agent of agents.values()) agent.destroy();
  };
  return {
    agentOf(server: string): Agent {
      const found = agents.get(server) ?? new Agent({ keepAlive: true, ca, cert, key, maxFreeSockets: 8 });
      agents.set(server, found);
      return found;
    },
    close,
    /** Requests in flight on old connections finish; a timeout ends those that never would. */
    closeWhenIdle: () => setTimeout(close, 5_000).unref(),
  };
}

/** One attempt: the body of a good answer, or an error that says what came instead. */
export function ask(options: Call & { server: string; agent: Agent; timeoutMs: number }): Promise<string> {
  const { server, agent, timeoutMs, method, path, body } = options;
  return new Promise((resolve, reject) => {
    const headers = body === undefined ? {} : { 'content-type': 'application/apply-patch+yaml' };
    const asked = request(`${server}${path}`, { method, agent, headers }, (answer) => {
      let text = '';
      answer.setEncoding('utf8');
      answer.on('data', (chunk: string) => {
        text += chunk;
      });
      answer.on('error', reject);
      answer.on('end', () => {
        if (answer.statusCode !== undefined && answer.statusCode < 300) resolve(text);
        else reject(new BadAnswerError(`status ${answer.statusCode}: ${text.slice(0, 200)}`));
      });
    });
    const timer = setTimeout(() => asked.destroy(new Error(`no answer in ${timeoutMs} ms`)), timeoutMs);
    asked.on('close', () => clearTimeout(timer));
    asked.on('error', reject);
    asked.end(body);
  });
}
